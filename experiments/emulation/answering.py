"""Devices that answer while latency is measured: those behind given ports, or an emulated bicycle's."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from riderless.experiments.emulation.spawn import start_twin
from riderless.hil.design.methods import design
from riderless.hil.loop.tick import LoopState
from riderless.hil.rig.rig import Rig, RigPort
from riderless.hil.runners.assembly import new_loop
from riderless.hil.runners.session import open_devices
from riderless.models.plant.plant import Scenario


@contextmanager
def answering_devices(rig: Rig, paths: list[str]) -> Iterator[tuple[list[int], LoopState]]:
    """Open ports with their devices set up, and a loop for them that will never be armed."""
    with ExitStack() as stack:
        if not paths:
            # a line faster than any rate needs, and a watchdog that fits the rate
            rig = replace(rig, ports=(RigPort(baud=4_000_000),), watchdog=min(5 / rig.rate, 0.2))
            paths = [stack.enter_context(start_twin(rig, Scenario(speed=((0.0, 5.0),)))).path]
        schedule = design(rig.bicycle, "off", [4.0, 5.0, 6.0], rig.timing)
        fds, devices, rig, calibration = stack.enter_context(open_devices(rig, paths))
        yield fds, new_loop(rig, schedule, calibration.as_record(), devices)
