"""Messages between live server and pages.

Version 1: JSON text, one object a message, distinguished by `type`. Angles in rad, times in s, torques in N m, speeds
in m/s; what is not measured is null. Times `t` are those of the log, on the device's clock where the rows have one. A
page leaves out messages of a `type` that it does not know; the server refuses whatever is not exactly one of
`PAGE_MESSAGES`.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

LIVE_SCHEMA = 1
ROW_COLUMNS = ("phi", "delta", "phi_dot", "delta_dot", "torque", "v", "y", "psi")  # beside t, state and cause
LARGEST_MESSAGE = 512  # bytes, from a page
MOST_WIND, MOST_STRENGTH = 20.0, 3.0  # N; times a usual kick by hand: of an emulated machine
CONTROL = "!"  # begins a line of the teller that is for the server itself

OptionalNumber = float | None
NumberColumn = list[OptionalNumber]


class _Message(BaseModel):
    """Message whose fields are all known."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=True, ser_json_inf_nan="null")


# --- server to page -------------------------------------------------------------------------------------------------


class Obstacle(_Message):
    """One thing in the way of arming, and what to do about it."""

    what: str
    do: str


class Branch(_Message):
    """One named mode over speed."""

    name: str
    v: list[float]  # m/s
    re: NumberColumn  # 1/s
    im: NumberColumn  # rad/s, zero or more


class TheoryCurves(_Message):
    """Predicted eigenvalues over speed: of the bicycle alone, and of the whole loop where a controller acts."""

    uncontrolled: list[Branch] = []
    controlled: list[Branch] = []


class BicycleParameters(_Message):
    """Bicycle by name, and its parameters in SI: the 25 of Meijaard et al. (2007), Table 1, and g."""

    name: str
    parameters: dict[str, float]


class LimitValues(_Message):
    """Limits of the machine that the page draws, in SI; `command` is in `command_unit` of the hello."""

    lean: float
    steer: float
    command: float
    torque: float
    speed_min: float
    speed_max: float
    bus_min: OptionalNumber = None
    bus_max: OptionalNumber = None


class LiveChoice(_Message):
    """Something a person can choose on the page."""

    name: str
    what: str = ""


class LiveSlider(_Message):
    """Parameter of a bicycle that a page alters, in the unit that is shown."""

    name: str
    what: str
    unit: str
    value: float
    usual: float  # of the bicycle as it was
    least: float
    most: float
    step: float


class PlayChoices(_Message):
    """Things that can be done to an emulated machine; empty where there are none."""

    faults: list[LiveChoice] = []
    controllers: list[LiveChoice] = []
    controller: str = ""  # that is in use
    speed: OptionalNumber = None  # m/s, of the belt now
    speed_min: OptionalNumber = None
    speed_max: OptionalNumber = None
    wind_max: float = MOST_WIND  # N
    strength_max: float = MOST_STRENGTH  # times a usual kick by hand
    parameters: list[LiveSlider] = []
    refused: str = ""  # why the parameters or the controller are not those that were wanted


class ShownWindow(_Message):
    """Window of a finished run; its fits come as messages of their own, with the same times."""

    t_start: float
    t_end: float
    speed: OptionalNumber = None
    text: str = ""
    rejected: bool = False


class ShownRun(_Message):
    """Finished run, and times [s] at which another is laid over it, by what happens then."""

    name: str
    command_unit: str = "N m"
    zeros: dict[str, float] = {}


class ReplayLine(_Message):
    """Time line of a finished run, and the runs that are drawn over time: it, and one that is laid over it."""

    start: float
    end: float
    windows: list[ShownWindow] = []
    runs: list[ShownRun] = []


class LiveHello(_Message):
    """First message to a page, and again whenever another run begins: everything that stays as it is."""

    type: Literal["hello"] = "hello"
    schema_: int = Field(default=LIVE_SCHEMA, alias="schema", serialization_alias="schema")
    kind: Literal["live", "replay", "play"]
    title: str
    label: str = ""
    run: str = ""  # folder of the log
    bicycle: BicycleParameters
    rate: float  # Hz, of the loop; rows come at most at `row_rate`
    row_rate: float = 100.0
    limits: LimitValues
    limit_reasons: dict[str, str] = {}
    command_unit: Literal["N m", "rad/s", "rad"] = "N m"
    stable_speeds: list[tuple[float, float]] = []  # m/s, of the bicycle alone
    gain_speeds: list[float] = []  # m/s, of the gain schedule; empty without a controller
    controller: str = ""
    theory: TheoryCurves = TheoryCurves()
    belt_width: OptionalNumber = None  # m
    presence: bool = False  # the machine wants a page that says `here` at least four times a second
    can: list[Literal["stop", "kick", "wind", "speed", "fault", "controller", "parameter", "seek", "pace"]] = []
    play: PlayChoices | None = None
    replay: ReplayLine | None = None

    model_config = ConfigDict(
        extra="forbid", frozen=True, populate_by_name=True, serialize_by_alias=True, ser_json_inf_nan="null"
    )


class LiveAltered(_Message):
    """Bicycle whose parameters were altered, before it rides; or why they were not."""

    type: Literal["altered"] = "altered"
    parameters: list[LiveSlider]
    refused: str = ""
    bicycle: BicycleParameters | None = None
    stable_speeds: list[tuple[float, float]] = []
    theory: TheoryCurves = TheoryCurves()


class LiveRows(_Message):
    """Batch of samples, about 30 times a second; every list has the length of `t`."""

    type: Literal["rows"] = "rows"
    t: list[float]
    phi: NumberColumn
    delta: NumberColumn
    phi_dot: NumberColumn
    delta_dot: NumberColumn
    torque: NumberColumn  # command, in `command_unit`
    v: NumberColumn
    y: NumberColumn
    psi: NumberColumn
    state: list[int]  # 0 DISARMED, 1 CHECK, 2 ARMED, 3 RUNNING, 4 RAMPDOWN, 5 FAULT
    cause: list[int]  # `riderless.hil.loop.states.Cause`


class LiveTrace(_Message):
    """Stretch of a finished run, for the page that asked for it."""

    type: Literal["trace"] = "trace"
    page: str
    run: int
    gap: float  # s between two rows, beyond which nothing is known between them
    rows: LiveRows


class LiveStatus(_Message):
    """Digest for a person, about ten times a second."""

    type: Literal["status"] = "status"
    t: OptionalNumber = None
    state: str  # in words: "under control, 12 s left"
    code: str = ""  # DISARMED, CHECK, ARMED, RUNNING, RAMPDOWN, FAULT; ENDED once the program is gone
    why: str = ""  # of a stop or fault, or what it waits for
    still: bool = False  # the drive is off
    obstacles: list[Obstacle] = []
    time_left: OptionalNumber = None  # s, under control
    recording: str = ""  # where the log lies
    recording_bytes: OptionalNumber = None
    recording_ok: bool = True
    disk_left: OptionalNumber = None  # bytes
    battery: OptionalNumber = None  # V, supply of the drive
    late_ticks: OptionalNumber = None
    skipped_ticks: OptionalNumber = None
    link_errors: OptionalNumber = None  # broken frames and lost samples
    temperatures: dict[str, float] = {}  # deg C, by the name of the sensor
    age_s: OptionalNumber = None  # of the newest row when this was written
    pages: int = 0  # that look on
    ground_forces: list[float] | None = None  # N, emulated nonlinear bicycle: rear, front; along, right, up
    pace: OptionalNumber = None  # s of the log a second: of a replay, 0 while it stands still, or of a played bicycle


class LiveEvent(_Message):
    """Something that happened."""

    type: Literal["event"] = "event"
    t: OptionalNumber
    kind: Literal["kick", "verdict", "cause", "state", "stop", "fault", "note"]
    text: str


class LiveFit(_Message):
    """Eigenvalue measured in one window, as fitted and as in the report, beside the predicted ones."""

    type: Literal["fit"] = "fit"
    t_start: OptionalNumber = None
    t_end: OptionalNumber = None
    speed: float
    mode: str
    re: float  # 1/s
    im: float  # rad/s
    u_re: OptionalNumber  # standard deviations of the fit
    u_im: OptionalNumber
    like_re: OptionalNumber = None  # like for like: what such a fit should find
    like_im: OptionalNumber = None
    predicted_re: OptionalNumber = None  # frozen: of theory at the mean speed
    predicted_im: OptionalNumber = None
    z: OptionalNumber = None  # measured minus like for like, in standard deviations of that difference
    condition: str = ""


class ConditionRow(_Message):
    """Condition of a campaign so far; one that only the windows' speeds have shown has no planned runs."""

    label: str
    done: int
    planned: int
    now: bool = False
    fits: int = 0
    speed: OptionalNumber = None
    re: OptionalNumber = None
    im: OptionalNumber = None
    outcome: str = ""  # of the last attempt


class LiveCampaign(_Message):
    """Campaign so far."""

    type: Literal["campaign"] = "campaign"
    conditions: list[ConditionRow]
    time_left: OptionalNumber = None  # s
    next: str = ""


class LiveHeard(_Message):
    """STOP of this page was heard; sent to it alone."""

    type: Literal["heard"] = "heard"
    press: str


class LiveBeat(_Message):
    """Sign of life each second, so that a page notices when the link is cut."""

    type: Literal["beat"] = "beat"


# --- page to server -------------------------------------------------------------------------------------------------


class PageStop(_Message):
    """STOP: the first ramps down, the second switches off.

    A page gives each press a name, and says it again until the press was heard; it counts once. One without a name
    counts each time.
    """

    type: Literal["stop"]
    press: str = Field(default="", max_length=24)


class PageHere(_Message):
    """Somebody is there: sent where the hello asks for `presence`."""

    type: Literal["here"]


class PageKick(_Message):
    """Kick of an emulated bicycle; a strength of 1 is a usual kick by hand."""

    type: Literal["kick"]
    side: Literal["left", "right"]
    strength: float = Field(default=1.0, ge=0.1, le=MOST_STRENGTH)


class PageWind(_Message):
    """Steady force of the wind [N], positive to the right."""

    type: Literal["wind"]
    force: float = Field(ge=-MOST_WIND, le=MOST_WIND)


class PageSpeed(_Message):
    """Speed of the belt [m/s]."""

    type: Literal["speed"]
    speed: float = Field(ge=0.0, le=12.0)


class PageFault(_Message):
    """Fault of the list in the hello."""

    type: Literal["fault"]
    name: str = Field(max_length=60)


class PageController(_Message):
    """Another controller of the list: ends the run and starts another."""

    type: Literal["controller"]
    name: str = Field(max_length=60)


class PageParameter(_Message):
    """Another value of a parameter of the list in the hello, as it is shown there; null for the usual one."""

    type: Literal["parameter"]
    name: str = Field(max_length=12)
    value: float | None = Field(ge=-1e4, le=1e4)


class PageSeek(_Message):
    """Time of a finished run [s]."""

    type: Literal["seek"]
    t: float = Field(ge=-1e9, le=1e9)


class PagePace(_Message):
    """Pace of a replay; 0 stands still."""

    type: Literal["pace"]
    pace: float = Field(ge=0.0, le=10.0)


class PageView(_Message):
    """Stretch of a finished run [s] that a page draws; it gives itself a name."""

    type: Literal["view"]
    page: str = Field(max_length=24)
    run: int = Field(ge=0, le=1)
    t_start: float = Field(ge=-1e9, le=1e9)
    t_end: float = Field(ge=-1e9, le=1e9)


PageMessage = (
    PageStop
    | PageHere
    | PageKick
    | PageWind
    | PageSpeed
    | PageFault
    | PageController
    | PageParameter
    | PageSeek
    | PagePace
    | PageView
)
PAGE_MESSAGES: TypeAdapter[PageMessage] = TypeAdapter(Annotated[PageMessage, Field(discriminator="type")])
ServerMessage = (
    LiveHello
    | LiveAltered
    | LiveRows
    | LiveTrace
    | LiveStatus
    | LiveEvent
    | LiveFit
    | LiveCampaign
    | LiveHeard
    | LiveBeat
)
SERVER_MESSAGES: TypeAdapter[ServerMessage] = TypeAdapter(Annotated[ServerMessage, Field(discriminator="type")])


def as_text(message: _Message) -> str:
    """Write a message as JSON; what is not a number becomes null."""
    return message.model_dump_json(by_alias=True)


def read_page_message(text: str | bytes) -> PageMessage | None:
    """Read a message of a page; None for anything else."""
    if isinstance(text, bytes) or len(text) > LARGEST_MESSAGE:
        return None
    try:
        return PAGE_MESSAGES.validate_json(text, strict=False)
    except ValueError:
        return None
