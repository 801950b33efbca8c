"""`riderless ports`: what is plugged in."""

from riderless.experiments.commands._shared_options import AsJson


def ports(as_json: AsJson = False) -> None:
    """List the serial ports of this computer, with the USB identity of what hangs on them.

    In a rig file, prefer the name under /dev/serial/by-id: it stays when plugs change places.
    """
    from riderless.experiments.terminal.console import emit_json, print_table, screen
    from riderless.firmware_interface.port import found_ports

    devices = found_ports()
    if as_json:
        emit_json({"ports": devices})
    elif not devices:
        screen.print("no serial port on this computer: is the cable in, does the device have power?")
    else:
        rows = [[p.by_id or p.path, p.path, p.what or "-", p.usb or "-", p.serial or "-"] for p in devices]
        print_table("Serial ports", ["name to use", "path", "what it is", "USB", "serial number"], rows)
