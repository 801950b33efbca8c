"""Right files that mutants begin from, small and made anew each time."""

import io
import json
import tomllib
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import tomli_w

from riderless.hil.logs.export import HEADER_SUFFIX, MARKERS_SUFFIX, export_run
from riderless.hil.logs.log import read_run
from riderless.models.catalogue import load_bicycle
from riderless.models.exchange.files import bicycle_text
from tests.experiments.commands.odd_inputs.litter import MAPPING
from tests.experiments.recordings import topic_logs
from tests.experiments.recordings.foreign_log import in_their_units, signals
from tests.paths import DOCS, ROOT
from tests.tools.fuzz_files.logs import LogParts, put_together, take_apart

OLD_RUNS = ROOT / "tests/hil/logs/old_runs"
OLD_GAINS = ROOT / "tests/hil/design/old_files"
ROWS = 120  # of a table; a recording has 50 or more
FULL_MAPPING = (DOCS / "foreign-logs.md").read_text(encoding="utf-8").split("```toml\n")[1].split("```")[0]
NOTES = """# what a person saw
a.csv: veto 3.3 "hand touched"         # a comment
move 4.9 to 4.8-6.3 "kick ended later"
b.csv: add 0.5-2.5 "weak, but a clean decay"
"""


@cache
def log_parts() -> list[LogParts]:
    """Parts of the logs of older versions, some rows of each."""
    return [take_apart(path.read_bytes()) for path in sorted(OLD_RUNS.glob("*/run.mcap"))]


@cache
def foreign_columns() -> dict[str, np.ndarray]:
    """Columns of somebody's log of a bicycle that is kicked now and then."""
    return {name: values[:ROWS] for name, values in in_their_units(signals(dt=0.02, length=ROWS * 0.02 + 11.0)).items()}


@cache
def exports() -> dict[str, bytes]:
    """Files that `riderless export` writes of a short log, by their suffix."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "run.mcap").write_bytes(put_together(log_parts()[0]))
        run = read_run(folder)
        for to in ("csv", "mat", "parquet"):
            export_run(run, to, folder / f"run.{to}")
        return {
            suffix: (folder / f"run{suffix}").read_bytes()
            for suffix in (".csv", ".mat", ".parquet", HEADER_SUFFIX, MARKERS_SUFFIX)
        }


@cache
def csv_texts() -> list[str]:
    """Tables as text: others' with comma and semicolon, those of known kinds, published eigenvalues, an export."""
    columns = foreign_columns()
    rows = list(zip(*columns.values(), strict=True))
    t = np.arange(ROWS) * 0.01
    weave = 0.3 * np.exp(-t) * np.cos(6 * t)
    kooijman = {"t_s": t, "lean_rate_V": 2.5 + weave, "speedometer_V": np.sin(200 * t)}
    names = ("sil_command", "speed", "lean_angle", "lean_rate", "fork_angle", "fork_rate", "command_fork")
    delft = {"time": t, **dict.fromkeys(names, 1.0 + weave)}
    return [
        _table(columns, rows, ","),
        _table(columns, rows, ";"),
        _table(kooijman, list(zip(*kooijman.values(), strict=True)), ","),
        _table(delft, list(zip(*delft.values(), strict=True)), ","),
        "v_start,v_end,re,im\n2.1,2.4,-0.5,3.1\n3.1,3.4,-0.9,4.1\n",
        exports()[".csv"].decode(),
    ]


def _table(columns: dict[str, np.ndarray], rows: list, mark: str) -> str:
    return "\n".join([mark.join(columns), *(mark.join(f"{value:.5f}" for value in row) for row in rows)]) + "\n"


@cache
def mat_files() -> list[bytes]:
    """MAT of versions 4, 5 and 7, with structs, cells, texts and a matrix, and an export."""
    from scipy.io import savemat

    columns = foreign_columns()
    nested = {"log": {"imu": {"gyro_x": columns["gyro_x"]}, "n": 3}, "note": "a text", "m": np.ones((20, 3))}
    nested["cell"] = np.array([columns["time"], "x"], object)
    made = []
    for content, how in (
        (columns, {"format": "4"}),
        (columns, {}),
        (columns | nested, {}),
        (columns | nested, {"do_compression": True}),
    ):
        file = io.BytesIO()
        savemat(file, content, **how)
        made.append(file.getvalue())
    return [*made, exports()[".mat"]]


@cache
def hdf5_files() -> list[bytes]:
    """HDF5 with groups, texts and attributes, plain and compressed."""
    import h5py

    made = []
    for how in ({}, {"compression": "gzip", "chunks": (50,)}):
        file = io.BytesIO()
        with h5py.File(file, "w") as content:
            for name, values in foreign_columns().items():
                content.create_dataset(name if how else f"log/{name}", data=values, **how)
                content[name if how else f"log/{name}"].attrs["unit"] = "rad/s"
            content.attrs["made by"] = "a person"
            content["m"] = np.ones((20, 3))
            content["words"] = np.array(["a", "b"], object)
            content["old"] = np.array([b"a", b"b"])
            content["link"] = h5py.SoftLink("/m")
        made.append(file.getvalue())
    return made


@cache
def parquet_files() -> list[bytes]:
    """Parquet with structs, texts and times, plain and compressed, and an export."""
    import pyarrow
    from pyarrow import parquet

    columns = {name: pyarrow.array(values) for name, values in foreign_columns().items()}
    more = {
        "s": pyarrow.array([{"x": 1.0, "y": None}] * ROWS),
        "w": pyarrow.array(["a", None] * (ROWS // 2)),
        "when": pyarrow.array(np.arange(ROWS), pyarrow.timestamp("us")),
        "list": pyarrow.array([[1.0, 2.0]] * ROWS),
    }
    made = []
    for content, how in ((columns, "NONE"), (columns | more, "NONE"), (columns | more, "zstd"), (columns, "snappy")):
        file = io.BytesIO()
        parquet.write_table(pyarrow.table(content), file, compression=how)
        made.append(file.getvalue())
    return [*made, exports()[".parquet"]]


TOPIC_FILES = {"json": ".mcap", "protobuf": ".mcap", "ros": ".mcap", "sqlite": ".db3", "ros1": ".bag", "ulog": ".ulg"}
TOPIC_FILES |= {"mf4": ".mf4"} if find_spec("asammdf") else {}  # riderless[mf4], 200 MB
TOPIC_MAPPING = """bicycle = "Silver"
[time]
column = "log_time"
unit = "ns"
[phi_dot]
column = "angular_velocity.x"
unit = "rad/s"
[delta]
column = "/joint_states position[steer]"
unit = "rad"
[v]
column = "/odom point.x"
unit = "m/s"
[free]
column = "/flags armed"
"""


@cache
def topic_files(kind: str) -> list[bytes]:
    """Files of messages on topics, as other programs write them; of "bag" the metadata of a folder."""
    with TemporaryDirectory() as name:
        path, messages = Path(name) / "bag", topic_logs.topics()[:250]
        match kind:
            case "json":
                made = [
                    topic_logs.write_json(path, messages, compression=how).read_bytes()
                    for how in topic_logs.CompressionType
                ]
            case "protobuf":
                made = [topic_logs.write_protobuf(path, messages).read_bytes()]
            case "ros" | "sqlite" | "bag":
                folder = topic_logs.write_bag(path, "sqlite3" if kind == "sqlite" else "mcap", messages)
                suffix = {"ros": ".mcap", "sqlite": ".db3", "bag": ".yaml"}[kind]
                made = [next(folder.glob(f"*{suffix}")).read_bytes()]
            case "ros1":
                made = [topic_logs.write_bag(path, "ros1", messages).read_bytes()]
            case "ulog":
                made = [topic_logs.write_ulog(path, messages).read_bytes()]
            case _:
                made = [topic_logs.write_mf4(path.with_suffix(".mf4"), messages).read_bytes()]
        return made


@cache
def toml_texts(kind: str) -> list[str]:
    """Texts of one kind of TOML file."""
    if kind == "rig":
        return [path.read_text(encoding="utf-8") for path in sorted((DOCS / "rigs").glob("*.toml"))]
    if kind == "bicycle":
        return [(ROOT / f"models/bicycles/{name}.toml").read_text(encoding="utf-8") for name in ("Silver", "Benchmark")]
    if kind == "campaign":
        return [_small_campaign(path) for path in sorted((DOCS / "campaigns").glob("*.toml"))]
    if kind == "mapping":
        return [MAPPING, FULL_MAPPING.replace("DelftSbW2024", "Silver")]
    return [path.read_text(encoding="utf-8") for path in sorted(OLD_GAINS.glob("*.toml"))]


@cache
def exchanged_texts(to: str) -> list[str]:
    """Bicycles as other programs have them: as we write them, and as those programs do."""
    ours = [bicycle_text(load_bicycle(name), to) for name in ("Benchmark", "Silver")]
    if to == "symbrim":
        return [*ours, json.dumps(json.loads(ours[0])["constants"])]
    plain = "".join(line.split("+/-")[0] + "\n" for line in ours[1].splitlines() if "=" in line)
    return [*ours, plain + "yB = 0.0\n", ours[0].replace("+/-0.0", ", (0.102 +/- 0.001)e+01", 1)]


def _small_campaign(path: Path) -> str:
    """Campaign of a bicycle, a controller and a speed: each of them is planned to the last kick, which takes time."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    for controller in document["controller"]:
        controller.setdefault("name", controller["method"])
    document["controller"] = document["controller"][:1]
    for protocol in document["protocol"]:
        protocol.update({key: protocol[key][:1] for key in ("speeds_m_s", "bicycles") if key in protocol})
        protocol.update({key: 1 for key in ("repeats", "kicks") if key in protocol})
        protocol.pop("controllers", None)
    return tomli_w.dumps(document)


def header_document() -> dict:
    """Header, markers and stop record as `riderless export` writes them beside a table."""
    return json.loads(exports()[HEADER_SUFFIX])
