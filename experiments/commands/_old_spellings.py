"""Earlier spellings of options, which are taken as they were, and shown nowhere: old scripts go on."""

OLD_SPELLINGS = {  # of each command: the old and the new
    "calibrate": {"--torque": "--sweep-torque"},
    "certify": {"--bike": "--bicycle"},
    "compare": {"--bike": "--bicycle"},
    "envelope": {"--kick": "--kick-rate", "--lag": "--drive-lag-ms"},
    "faults": {"--length": "--duration"},
    "init": {"--bike": "--bicycle", "--driver": "--driver-only"},
    "live": {"--port": "--tcp-port"},
    "margins": {"--bike": "--bicycle"},
    "plan": {"--kick": "--kick-by"},
    "play": {"--port": "--tcp-port"},
    "run": {"--bike": "--bicycle"},
    "simulate": {"--speeds": "--speed"},
}
