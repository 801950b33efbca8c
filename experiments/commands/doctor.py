"""`riderless doctor`: versions, system and settings."""

from riderless.experiments.commands._shared_options import AsJson


def doctor(as_json: AsJson = False) -> None:
    """Describe this installation and computer: versions, ports, compiled code, and what keeps real time from holding.

    It changes nothing and opens no port.
    """
    import locale
    import platform
    import shutil
    import sys
    from importlib.util import find_spec
    from pathlib import Path

    from riderless.experiments.terminal.console import emit_json, screen
    from riderless.firmware_interface.kernel_folder import everything_compiled
    from riderless.firmware_interface.port import found_ports
    from riderless.hil.logs.provenance import provenance

    versions = provenance()
    commit = versions["git"]["commit"][:10] + (" and changes" if versions["git"]["dirty"] else "")
    extras = {"websockets": "live", "h5py": "formats", "pyarrow": "formats", "foxglove": "foxglove", "dask": "dask"}
    compiled = everything_compiled()
    free = shutil.disk_usage(Path.cwd()).free
    ports = [f"{port.by_id or port.path} {port.what or ''}".strip() for port in found_ports()]
    facts = {
        "riderless": f"{versions['packages'].pop('riderless')}, commit {commit}",
        "python": f"{versions['python']} ({platform.python_implementation()}) at {sys.prefix}",
        "system": f"{versions['platform']}, {platform.machine()}",
        "packages": ", ".join(f"{name} {version}" for name, version in versions["packages"].items()),
        "extras": ", ".join(f"{name} {'yes' if find_spec(name) else 'no'}" for name in extras),
        "text": f"terminal {sys.stdout.encoding}, files {locale.getpreferredencoding(False)}",
        "compiled": f"{'everything' if compiled.exists() else 'not everything yet'}, in {compiled.parent}",
        "disk": f"{free / 1e9:.1f} GB free here",
        "ports": "; ".join(ports) or "none",
        "real time": _real_time(),
    }
    if as_json:
        emit_json(facts)
        return
    for name, text in facts.items():
        lines = text if isinstance(text, list) else [text]
        screen.print(f"{name:10} {lines[0]}", soft_wrap=True)
        for line in lines[1:]:
            screen.print(f"{'':10} {line}", soft_wrap=True)


def _real_time() -> list[str]:
    """List what a loop in real time would find here, a sentence each."""
    import sys

    if sys.platform != "linux":
        return ["needs Linux: a machine cannot be run from here; simulated time, play and analysis can"]
    from riderless.hil.runners.latency_certificate import describe_computer
    from riderless.hil.runners.scheduling import MAX_PRIORITY, describe_privileges

    return describe_computer() + describe_privileges(fifo=MAX_PRIORITY)
