"""Folder of odd files: each is one right file with one thing wrong, under a name that says what."""

import shutil
from pathlib import Path

import numpy as np

from riderless.hil.design.methods import design
from riderless.models import catalogue
from tests.experiments.recordings.foreign_log import in_their_units, signals, write_csv
from tests.paths import DOCS, REFERENCE, ROOT

# file of which folder of odd ones: name -> (text in the right file, what stands there instead)
BICYCLES = {
    "negative": ("w = 1.01 ", "w = -1.01 "),
    "zero-mass": ("mB = 12.06 ", "mB = 0 "),
    "nan": ("w = 1.01 ", "w = nan "),
    "inf": ("w = 1.01 ", "w = inf "),
    "text": ("w = 1.01 ", 'w = "1.01 m" '),
    "bool": ("w = 1.01 ", "w = true "),
    "list": ("w = 1.01 ", "w = [1.01] "),
    "huge": ("mB = 12.06 ", "mB = 1e300 "),
    "misspelt": ("w = 1.01 ", "wheelbase = 1.01 "),
    "lacking": ("w = 1.01 ", "# "),
    "twice": ("w = 1.01 ", "w = 1.01\nw = 1.02 "),
    "unknown-key": ('name = "Silver"', 'name = "Silver"\ncolour = "red"'),
    "nameless": ('name = "Silver"', ""),
    "name-is-a-number": ('name = "Silver"', "name = 3"),
    "no-triangle": ("IByy = 1.2 ", "IByy = 20 "),
    "no-tensor": ("IBxz = 0.0327 ", "IBxz = 5.0 "),
    "std-negative": ("[parameters]", "[std]\nw = -0.1\n[parameters]"),
    "std-unknown": ("[parameters]", "[std]\nlength = 0.1\n[parameters]"),
    "std-text": ("[parameters]", '[std]\nw = "small"\n[parameters]'),
    "parameters-a-list": ("[parameters]", "parameters = [1, 2]\n[other]"),
    "millimetres": ("w = 1.01 ", "w = 1010 "),
    "grams": ("mB = 12.06 ", "mB = 12060 "),
    "z-up": ("zB = -0.627 ", "zB = 0.627 "),
    "head-angle": ("lam = 0.366519143 ", "lam = 1.204 "),
    "missing-unknown": ('name = "Silver"', 'name = "Silver"\nmissing = ["w"]'),
}
RIGS = {
    "no-bicycle": ('bicycle = "Benchmark"', ""),
    "unknown-bicycle": ('"Benchmark"', '"Bechmark"'),
    "bicycle-number": ('"Benchmark"', "3"),
    "unknown-device": ('device = "node"', 'device = "arduino"'),
    "unknown-key": ('name = "node"', 'name = "node"\ncolour = "red"'),
    "unknown-table": ("[imu]", "[gps]\nx = 1\n[imu]"),
    "unknown-limit": ("[limits.lean]", "[limits.leen]"),
    "no-reason": ('reason = "a six-cell battery is empty below it"', ""),
    "limit-text": ("value = 7.0 ", 'value = "seven" '),
    "limit-nan": ("value = 7.0 ", "value = nan "),
    "limit-negative": ("value = 7.0 ", "value = -7.0 "),
    "limit-degrees": ("value = 0.52 ", "value = 30 "),
    "limits-contradict": ("value = 30.0 ", "value = 15.0 "),
    "speeds-contradict": ("value = 10.0 ", "value = 0.2 "),
    "rate-zero": ("rate_Hz = 200", "rate_Hz = 0"),
    "rate-huge": ("rate_Hz = 200", "rate_Hz = 1e9"),
    "rate-nan": ("rate_Hz = 200", "rate_Hz = nan"),
    "rate-text": ("rate_Hz = 200", 'rate_Hz = "fast"'),
    "clock": ('clock = "device"', 'clock = "sundial"'),
    "lag": ("drive_lag_s = 0.005 ", "drive_lag_s = 5 "),
    "watchdog-long": ("watchdog_s = 0.025 ", "watchdog_s = 2.5 "),
    "watchdog-short": ("watchdog_s = 0.025 ", "watchdog_s = 0.004 "),
    "baud": ("baud = 921600", "baud = -1"),
    "ports-twice": ("[loop]", '[[port]]\ndevice = "node"\n[loop]'),
    "carries": ('device = "node"', 'device = "node"\ncarries = ["smell"]'),
    "carries-nothing": ('device = "node"', 'device = "node"\ncarries = []'),
    "setting": ('device = "node"', 'device = "node"\nsettings = { gain = 3.0 }'),
    "imu-far": ("x_m = 0.30 ", "x_m = 300 "),
    "imu-nan": ("x_m = 0.30 ", "x_m = nan "),
    "observer": ("[imu]", "[observer]\nspeed = 1.0\n[imu]"),
    "calibration": ("[imu]", "[calibration]\ncolour = 1.0\n[imu]"),
    "calibration-shape": ("[imu]", "[calibration]\ngyro_bias = [0.0, 0.0]\n[imu]"),
    "std": ("[imu]", "[std]\ndrive_gain = -0.1\n[imu]"),
    "std-nan": ("[imu]", "[std]\ndrive_gain = nan\n[imu]"),
    "later-format": ('name = "node"', 'format = "riderless rig 99"\nname = "node"'),
    "port-missing": ('path = "/dev/serial/by-id/usb-riderless_node"', 'path = "nowhere"'),
    "port-is-a-file": ('path = "/dev/serial/by-id/usb-riderless_node"', 'path = "words.txt"'),
    "drive-gain": ("[imu]", "[drive]\ngain = 12.8\n[imu]"),
    "friction-negative": ("[imu]", "[drive]\nfriction_Nm = -0.2\n[imu]"),
    "hysteresis-mNm": ("[imu]", "[drive]\nhysteresis_Nm = 50\n[imu]"),
    "rate-dead-band": (
        "[imu]",
        '[limits.steer_rate]\nvalue = 8.0\nreason = "bench"\n'
        '[limits.steer_acceleration]\nvalue = 200.0\nreason = "bench"\n'
        '[drive]\nkind = "rate"\nbandwidth_rad_per_s = 50.0\ndead_band_Nm = 0.1\n[imu]',
    ),
    "untested": ("latency_test_days = 0 ", "latency_test_days = 7 "),
}
TREADMILLS = {
    "kp": ("kp = 0.3", "kp = 30"),
    "ki-nan": ("ki_per_s = 0.5", "ki_per_s = nan"),
    "ki-text": ("ki_per_s = 0.5", 'ki_per_s = "half"'),
    "trim": ("trim_m_per_s = 0.5 ", "trim_m_per_s = -0.5 "),
    "ramp-zero": ("ramp_m_per_s2 = 1.0 ", "ramp_m_per_s2 = 0 "),
    "stop-huge": ("stop_m_per_s2 = 1.0 ", "stop_m_per_s2 = 50 "),
    "lag": ("lag_s = 0.3 ", "lag_s = 300 "),
    "follow-error": ("follow_error_m_per_s = 0.4 ", "follow_error_m_per_s = 0 "),
    "follow-time": ("follow_time_s = 0.5", "follow_time_s = 60"),
    "lost-after": ("lost_after_s = 0.5 ", "lost_after_s = inf "),
    "no-unit": ("ramp_m_per_s2 = 1.0 ", "ramp = 1.0 "),
    "no-table": ("[speed_drive] ", "[speeddrive] "),
    "no-port": ('carries = ["speed"]', 'carries = ["place"]'),
    "twice": ("[place]", '[[port]]\ndevice = "treadmill"\nbaud = 115200\ncarries = ["speed"]\n[place]'),
    "carries-more": ('carries = ["speed"]', 'carries = ["speed", "wheel"]'),
    "setting": ('carries = ["speed"]', 'carries = ["speed"]\nsettings = { width_m = 1.2 }'),
    "slow-line": ('baud = 115200\ncarries = ["speed"]', 'baud = 1200\ncarries = ["speed"]'),
    "slow-start": ("ramp_m_per_s2 = 1.0 ", "ramp_m_per_s2 = 0.1 "),
}
WHEELS = {
    "no-pairs": ("pole_pairs = 7, ", ""),
    "half-a-pair": ("pole_pairs = 7, ", "pole_pairs = 3.5, "),
    "radius": ("wheel_radius_m = 0.3 ", "wheel_radius_m = -0.3 "),
}
GAINS = {
    "later-format": ("schedule 1", "schedule 99"),
    "of-no-method": ("method =", "methode ="),
    "no-rows": ("[[speed]]", "[[sped]]"),
    "nan": ("v = 4.0", "v = nan"),
    "reversed": ("v = 4.0", "v = 9.0"),
    "text": ("v = 4.0", 'v = "four"'),
    "rate": ("rate = 200.0", "rate = -200.0"),
    "rate-text": ("rate = 200.0", 'rate = "200"'),
    "delay": ("delay = 1", "delay = 7"),
    "bicycle": ("w = 1.01\n", "w = -1.01\n"),
    "bicycle-lacking": ("w = 1.01\n", ""),
    "shape": ("K = [", "K = [\n    1.0,"),
}
CAMPAIGNS = {
    "nameless": ('name = "treadmill perturbation"', ""),
    "unknown-key": ("seed = 1 ", "sed = 1 "),
    "unknown-bicycle": ('["Silver"]', '["Silvia"]'),
    "bicycle-twice": ('["Silver"]', '["Silver", "Silver"]'),
    "no-bicycles": ('["Silver"]', "[]"),
    "rig-missing": ('rig = "emulated"', 'rig = "nowhere.toml"'),
    "rig-is-gains": ('rig = "emulated"', 'rig = "gains.toml"'),
    "seed-text": ("seed = 1 ", 'seed = "one" '),
    "seed-negative": ("seed = 1 ", "seed = -1 "),
    "model": ('model = "linear"', 'model = "cubic"'),
    "time": ('time = "real"', 'time = "slow"'),
    "share-zero": ("share_of_limits = 0.9 ", "share_of_limits = 0.0 "),
    "share-two": ("share_of_limits = 0.9 ", "share_of_limits = 2.0 "),
    "share-nan": ("share_of_limits = 0.9 ", "share_of_limits = nan "),
    "method": ('method = "poles"', 'method = "magic"'),
    "method-option": ("zeta = 0.3", "zita = 0.3"),
    "method-value": ("zeta = 0.3", "zeta = 30"),
    "gains-missing": ('method = "poles"\noptions = { zeta = 0.3 }', 'gains = "nowhere.toml"'),
    "gains-are-a-rig": ('method = "poles"\noptions = { zeta = 0.3 }', 'gains = "rig.toml"'),
    "controller-twice": ('method = "lqr"', 'method = "lqr"\nname = "damped"'),
    "kind": ('kind = "treadmill"', 'kind = "tredmill"'),
    "speeds-none": ("[4.5, 5.5, 7.0]", "[]"),
    "speeds-negative": ("[4.5, 5.5, 7.0]", "[-4.5]"),
    "speeds-huge": ("[4.5, 5.5, 7.0]", "[4500.0]"),
    "speeds-nan": ("[4.5, 5.5, 7.0]", "[nan]"),
    "speeds-text": ("[4.5, 5.5, 7.0]", '"fast"'),
    "repeats-zero": ("repeats = 2", "repeats = 0"),
    "repeats-huge": ("repeats = 2", "repeats = 1000000000"),
    "kicks-zero": ("kicks = 3", "kicks = 0"),
    "kicks-text": ("kicks = 3", 'kicks = "many"'),
    "kicks-huge": ("kicks = 3", "kicks = 1000000000"),
    "spacing": ("kicks = 3", "kicks = 3\nspacing_s = -1.0"),
    "later-format": ('rig = "emulated"', 'format = "riderless campaign 99"\nrig = "emulated"'),
    "protocol-unknown-controller": ("kicks = 3", 'kicks = 3\ncontrollers = ["soft"]'),
    "protocol-unknown-bicycle": ("kicks = 3", 'kicks = 3\nbicycles = ["Rigid"]'),
}
ASKED_OF_AUTO = 'until = "drive_gain +- 0.0005, steer_damping +- 0.001"'
AUTO = {
    "no-belt": ("[belt]\nwidth_m = 1.2 ", ""),
    "lqr": ('method = "lane"', 'method = "lqr"'),
    "until": ('until = "drive_gain +- 0.0005', 'until = "drive_gain +- none'),
    "twice": (ASKED_OF_AUTO, 'until = "verdict"\nagainst = [{ drive_gain = 0.9 }, { drive_gain = 0.9 }]'),
    "legs": ("minutes = 10", "minutes = 10\nlegs = 0"),
    "against": (ASKED_OF_AUTO, 'until = "verdict"\nagainst = 0.9'),
}
MAPPING = """bicycle = "DelftSbW2024"
[time]
column = "time"
unit = "ms"
[phi_dot]
column = "gyro_x"
unit = "deg/s"
sign = -1
[v]
column = "belt"
unit = "km/h"
"""
MAPPINGS = {
    "unknown-table": ("[v]", "[speed]"),
    "no-speed": ('[v]\ncolumn = "belt"\nunit = "km/h"\n', ""),
    "no-unit": ('unit = "km/h"', ""),
    "wrong-unit": ('unit = "km/h"', 'unit = "deg"'),
    "no-column": ('column = "belt"', 'column = "belts"'),
    "sign": ("sign = -1", "sign = 7"),
    "sign-text": ("sign = -1", 'sign = "minus"'),
    "bicycle": ('"DelftSbW2024"', '"Delft"'),
    "time-unit": ('unit = "ms"', 'unit = "fortnights"'),
    "seconds-for-ms": ('unit = "ms"', 'unit = "s"'),
    "degrees-for-radians": ('unit = "deg/s"', 'unit = "rad/s"'),
    "kind": ("bicycle =", 'kind = "delf"\nbicycle ='),
    "later-format": ("bicycle =", 'format = "riderless mapping 99"\nbicycle ='),
    "constant": ('column = "belt"', "constant = nan"),
    "zero-text": ('unit = "km/h"', 'unit = "km/h"\nzero = "none"'),
    "skip-huge": ("[time]", "[text]\nskip = 1000000\n[time]"),
    "delimiter": ("[time]", '[text]\ndelimiter = "tab and comma"\n[time]'),
}

PATHS = {
    "no-speed": ("speed_m_per_s", "# speed_m_per_s"),
    "knot": ('shape = "circle"', 'shape = "knot"'),
    "tight": ("radius_m = 12.0", "radius_m = 2.0"),
    "nan": ("radius_m = 12.0", "radius_m = nan"),
    "wide": ("radius_m = 12.0", "width_m = 12.0"),
    "backwards": ("speed_m_per_s = 4.0", "speed_m_per_s = -4.0"),
}


def spoil(text: str, old: str, new: str) -> str:
    """The text with one thing replaced wherever it stands."""
    assert old in text, old
    return text.replace(old, new)


def make_litter(folder: Path, run: Path) -> None:
    """Fill a folder; ``run`` is a good run of ours, copied as ``run``."""
    silver = (ROOT / "models/bicycles/Silver.toml").read_text(encoding="utf-8")
    rig = (DOCS / "rigs/node.toml").read_text(encoding="utf-8")
    campaign = (DOCS / "campaigns/treadmill.toml").read_text(encoding="utf-8")
    auto = (DOCS / "campaigns/auto.toml").read_text(encoding="utf-8")
    gains = design(catalogue.load_bicycle("Silver"), "lqr", (4.0, 5.0)).to_toml()
    for name, text, odd in (
        ("silver", silver, BICYCLES),
        ("rig", rig, RIGS),
        ("treadmill", (DOCS / "rigs/treadmill.toml").read_text(encoding="utf-8"), TREADMILLS),
        ("wheel", (DOCS / "rigs/driven-wheel.toml").read_text(encoding="utf-8"), WHEELS),
        ("gains", gains, GAINS),
        ("campaign", campaign, CAMPAIGNS),
        ("campaign-auto", auto, AUTO),
        ("mapping", MAPPING, MAPPINGS),
        ("path", (DOCS / "path_files/circle.toml").read_text(encoding="utf-8"), PATHS),
    ):
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
        for what, (old, new) in odd.items():
            (folder / f"{name}-{what}.toml").write_text(spoil(text, old, new), encoding="utf-8")
    _words(folder, silver)
    _logs(folder)
    _runs(folder, run)


def _words(folder: Path, silver: str) -> None:
    """Files that are no TOML, or hardly."""
    (folder / "empty.toml").write_text("")
    (folder / "path-points.toml").write_text('shape = "points"\nfile = "nowhere.csv"\n')
    (folder / "torn.toml").write_text("name = [")
    (folder / "half.toml").write_text(silver[: len(silver) // 2 + 3], encoding="utf-8")
    (folder / "binary.toml").write_bytes(bytes(range(256)))
    (folder / "utf16.toml").write_text(silver, encoding="utf-16")
    (folder / "latin1.toml").write_text(silver.replace("Delft", "D\u00e9lft"), encoding="latin-1")
    (folder / "words.txt").write_text("no more than words\n")
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    for name, text in {"list": "[1, 2]", "object": "{}", "deep": 5000 * "[" + 5000 * "]"}.items():
        (folder / f"report-{name}").mkdir()
        (folder / f"report-{name}" / "report.json").write_text(text)
    (folder / "folder.toml").mkdir()
    (folder / "void").mkdir()
    (folder / "loop.toml").symlink_to("loop.toml")
    (folder / "loop").symlink_to("loop")
    (folder / "silver-brackets.toml").write_text(silver.replace('"Silver"', '"[/red]"'), encoding="utf-8")
    (folder / "full").symlink_to("/dev/full")  # a disk without room; a link, which may be lost
    (folder / "silver-with-mark.toml").write_text("\ufeff" + silver, encoding="utf-8")  # byte-order mark
    (folder / "\u00fcber gr\u00fc\u00dfe.toml").write_text(silver, encoding="utf-8")


def _logs(folder: Path) -> None:
    """Others' recordings."""
    columns = in_their_units(signals())
    write_csv(folder / "log.csv", columns)
    write_csv(folder / "log-semicolon.csv", columns, ";")
    (folder / "log[").mkdir()
    write_csv(folder / "log[/b].csv", columns)  # a folder and a file that look like a mark of the console
    (folder / "mapping-brackets.toml").write_text('label = "[/red]"\n' + MAPPING)
    lines = (folder / "log.csv").read_text().splitlines()
    odd = {
        "empty": [],
        "header-only": lines[:1],
        "no-header": lines[1:],
        "few-rows": lines[:20],
        "ragged": [*lines[:900], lines[900] + ",7,7", *lines[901:]],
        "short-row": [*lines[:900], "1,2", *lines[901:]],
        "text": [*lines[:900], lines[900].replace(lines[900].split(",")[1], "fast"), *lines[901:]],
        "same-names": [lines[0].replace("belt", "gyro_x"), *lines[1:]],
        "no-numbers": [lines[0], *([",".join(["x"] * 9)] * 100)],
        "holes": [lines[0], *([",".join([""] * 9)] * 100)],
        "backwards": [lines[0], *reversed(lines[1:])],
        "stopped-clock": [lines[0], *([lines[1]] * 100)],
        "constant": [lines[0], *(f"{10 * k},0,14.4,0,2048,0,2.5,0,1" for k in range(500))],
    }
    for name, rows in odd.items():
        (folder / f"log-{name}.csv").write_text("".join(f"{row}\n" for row in rows))
    (folder / "log-utf16.csv").write_text("\n".join(lines), encoding="utf-16")
    (folder / "log-binary.csv").write_bytes(np.random.default_rng(0).bytes(5000))
    (folder / "log-text.mat").write_text("no more than words\n" * 100)
    (folder / "log-cut.mat").write_bytes(b"MATLAB 5.0 MAT-file, Platform: posix" + bytes(200))
    (folder / "log-cut.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(50))
    (folder / "log-cut.parquet").write_bytes(b"PAR1" + bytes(50) + b"PAR1")
    shutil.copy(REFERENCE / "measured_weave_eigenvalues.csv", folder / "eigenvalues.csv")
    (folder / "cell.csv").write_text(f"t,psi_dot_ref,x,y\n0,0,0,0\n1,{'1' * 200_000},1,1\n")
    (folder / "pull-cell.csv").write_text(f"command,kg,kg\n1,{'1' * 200_000},1\n")
    (folder / "eigenvalues-text.csv").write_text("v_start,v_end,re,im\n1,2,x,4\n")
    (folder / "notes-verb.txt").write_text('forget 1.0 "no"\n')
    (folder / "notes-no-reason.txt").write_text("veto 1.0\n")
    (folder / "notes-nowhere.txt").write_text('veto 999 "no"\n')
    (folder / "notes-backwards.txt").write_text('add 4.0-2.0 "no"\n')


def _runs(folder: Path, run: Path) -> None:
    """Runs of ours: a good one, and damaged ones."""
    shutil.copytree(run, folder / "run")
    for name in ("run-empty", "run-torn", "run-binary", "run-folder", "run-header"):
        shutil.copytree(run, folder / name)
    log = (run / "run.mcap").read_bytes()
    (folder / "run-empty/run.mcap").write_bytes(b"")
    (folder / "run-torn/run.mcap").write_bytes(log[:40])
    (folder / "run-binary/run.mcap").write_bytes(bytes(range(256)) * 20)
    (folder / "run-folder/run.mcap").unlink()
    (folder / "run-folder/run.mcap").mkdir()
    (folder / "run-header/run.mcap").write_bytes(log[:3000])
