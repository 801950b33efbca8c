"""Mutants that no test can notice, and why: by file, a part of a mutant's words and the reason.

The words hold no line numbers, so an argument outlives changes elsewhere in its file. An argument whose mutant is gone,
or is noticed after all, is told by `make mutants` as well.
"""

_ONE_RECORD = "the first of one record or of two is the same record"
_YES = "it is yes or no, and 2 is a yes"
_FIRST = "nothing is on yet"
_GRID = "at a speed of the grid both intervals that meet there give its gains"
_BACK = "a clock that goes back is a step, with or without a turn of its 32 bits, which is 71 minutes away"
_SPARE = "room for one more, which is not used"
_LENGTH = "each frame is longer than its header, and its length is compared below"
_STDIN = "number 0 is the standard input, and no port"

EQUIVALENT: dict[str, dict[str, str]] = {
    "firmware_interface/calibration.py": {
        "number: 1 -> 2 in record = np.zeros(1, CALIBRATION)[0]": _ONE_RECORD,
        "number: 1 -> 2 in clock.started = 1": _YES,
        "off < 1e-06": "a rounding error decides there",
        "term left out: f.name == 'wheel_radius'": "it has no default, so it always differs",
        "term left out: CALIBRATION.names or ()": "it has names",
        "comparison: determinant < 0 -> determinant <= 0": "an orthonormal matrix has 1 or -1",
        "comparison: x > lowest -> x >= lowest": "the lowest is the lowest either way",
        "step - clock.last_us + 2 ** 31 -> step - clock.last_us - 2 ** 31": "the same number of 32 bits",
    },
    "firmware_interface/node/protocol.py": {
        "term left out: n < _HEADER_SIZE or": _LENGTH,
        "comparison: n < _HEADER_SIZE ->": _LENGTH,
        "number: 1 -> 2 in receiver.started = 1": _YES,
    },
    "hil/loop/limits.py": {
        "number: 1 -> 2 in record = np.zeros(1, LIMITS)[0]": _ONE_RECORD,
    },
    "hil/loop/observer.py": {
        "number: 1 -> 2 in record = np.zeros(1, OBSERVER)[0]": _ONE_RECORD,
    },
    "hil/loop/plausibility.py": {
        "number: 1 -> 2 in return np.zeros(1, MONITOR)[0]": _ONE_RECORD,
        "overwritten: on |= _look_at_clock": _FIRST,
        "overwritten: on |= _JUMP": _FIRST,
        "number: 4026531840 -> 4026531841": "a microsecond of the last four and a half minutes",
        "comparison: elapsed < 0 -> elapsed <= 0": "a clock that stands still is a step as well",
        "number: 0 -> 1 in if elapsed < 0": "a clock that stands still is a step as well",
        "comparison: m.t_us > _NEARLY_WRAPPED -> m.t_us >= _NEARLY_WRAPPED": "a microsecond as above",
        "term left out: elapsed < 0 and m.t_us > _NEARLY_WRAPPED -> elapsed < 0": _BACK,
    },
    "hil/loop/drives/following.py": {
        "comparison: o.command_delay < o.dt -> o.command_delay <= o.dt": "no time is left then, and its map is none",
    },
    "hil/loop/consistency.py": {
        "operator: -dt / FORCE_TIME -> -dt * FORCE_TIME": "a time constant of one second",
    },
    "hil/loop/place/tracker.py": {
        "number: 1 -> 2 in place = np.zeros(1, PLACE)[0]": _ONE_RECORD,
        "overwritten: on |= _EDGE": "a place that is lost has no edge",
        "number: 1 -> 2 in place.plane = 1 if": _YES,
    },
    "hil/controllers/gains.py": {
        "comparison: settings[j] < v -> settings[j] <= v": _GRID,
        "comparison: v < settings[j] -> v <= settings[j]": _GRID,
    },
    "hil/loop/tick.py": {
        "number: 1 -> 2 in wire.n_tx[port] = say(": _YES,
        "number: 1 -> 2 in loop.supervisor.send = 1": _YES,
        "operator: lost += receiver.samples_lost": "whether any was lost is asked, and not how many",
    },
    "hil/loop/supervisor.py": {
        "number: 1 -> 2 in s = np.zeros(1, SUPERVISOR)[0]": _ONE_RECORD,
        "overwritten: s.verdict |= _VERDICT.RELEASED": _FIRST,
        "overwritten: s.verdict |= _VERDICT.RAMP": _FIRST,
        "overwritten: s.verdict |= _VERDICT.NOT_RUNNING": _FIRST,
        "overwritten: s.verdict |= _VERDICT.TORQUE_LIMIT": "only a release comes before, and then the wish is zero",
        "operator: news.T_req + e.phi": "a difference is finite where the sum is: what is asked is whether any is not",
        "comparison: news.dt > 0.0 -> news.dt >= 0.0": "no time is no time by either branch",
        "number: 1 -> 2 in s.released = 1": _YES,
        "term left out: s.stage == _DISARMED and news.demand < _ARM -> news.demand < _ARM": "it is asked where it is "
        "disarmed alone, and forgotten on the way there",
        'number: 1 -> 2 in s["released"] = 1': _YES,
    },
    "hil/runners/realtime.py": {
        "comparison: ports[port].fd < 0 -> ports[port].fd <= 0": _STDIN,
        "number: 0 -> 1 in if ports[port].fd < 0": _STDIN,
        "overwritten: samples += hear": "one port alone beats time",
        "sign: -libc.EINTR -> libc.EINTR": "what never waits is never interrupted",
        "await_sample: left out: return False -> pass": "nothing is not true either",
        "in _loop(ports, 0, True, 1, loop": "it is told to quit before the first beat",
        "number: 1 -> 2 in count = np.zeros(1, np.int32)": _SPARE,
        "number: 1 -> 2 in wire, scratch = new_wire": _SPARE,
        "number: 8 -> 9 in ring, tape, ghost, spare": _SPARE,
        "number: 1 -> 2 in recorder = Recorder(record, BEAT_AT + 1": _SPARE,
        "number: 1 -> 2 in flow = np.zeros(BEAT_AT + 1": _SPARE,
    },
    "hil/runners/operator.py": {
        "self.seen is None -> self.running_since is None": "what has begun has been seen",
    },
    "hil/logs/header.py": {
        "build: number: 0.0 -> 1.0 in require_playable": "a day at 1 Hz is 3 MB, and no refusal",
    },
    "hil/logs/log.py": {
        "number: 32000000 -> 32000001 in LONG_LOG_BYTES": "a byte of 32 MB",
        "term left out: self.ticks.dtype.names or () -> self.ticks.dtype.names": "rows have names",
        "left out: begun = {first: tape for first, tape": "bytes that were given are kept, and nobody asks again",
        "number: 0.0 -> 1.0 in writer.marker": "when it is does not matter to what is loaded",
        "term left out: TICK.names or () -> TICK.names": "it has names",
        "truth: True -> False in if all(isinstance(field": "the fields are those of the kinds, one by one",
        "term left out: long or not stored -> not stored": "what is left in the file needs too much the second time",
    },
    "hil/logs/writer.py": {
        "__exit__: left out: return -> pass": "what is closed is not closed again",
    },
    "hil/runners/session.py": {
        "truth: True -> False in next(device for port, device": "the ports were counted when they were opened",
    },
}
