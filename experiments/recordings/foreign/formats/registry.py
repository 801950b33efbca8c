"""File formats of foreign recordings.

A format is one file and one line below.
"""

from collections.abc import Callable, Collection
from pathlib import Path

from riderless.experiments.recordings.foreign.formats import hdf5, mat, mcap, mf4, parquet, rosbag, text, ulog
from riderless.experiments.recordings.foreign.table import Table
from riderless.firmware_interface.devices.outside import offered
from riderless.models.errors import InputError
from riderless.models.text_file import why_unreadable

# format: does it begin so? (its first bytes, its suffix in small letters), and its reader; the first that fits
FILE_FORMATS: dict[str, tuple[Callable[[bytes, str], bool], Callable[..., Table]]] = {
    "HDF5 (also MAT 7.3)": (hdf5.fits, hdf5.read),
    "Parquet": (parquet.fits, parquet.read),
    "MCAP": (mcap.fits, mcap.read),
    "ROS bag": (rosbag.fits, rosbag.read),
    "ULog": (ulog.fits, ulog.read),
    "MF4": (mf4.fits, mf4.read),
    "MAT": (mat.fits, mat.read),
    "CSV": (text.fits, text.read),
}
FORMAT_GROUP = "riderless.formats"  # of entry points, by suffix: readers in packages, for what fits none of these
RECORDING_SUFFIXES = (  # sought in a folder
    *(".csv", ".log", ".tsv", ".mat", ".h5", ".hdf5", ".parquet", ".gz"),
    *(".mcap", ".bag", ".db3", ".ulg", ".mf4"),
)
SUFFIX_REMEDIES = {
    ".xlsx": "save the sheet as CSV",
    ".xls": "save the sheet as CSV",
    ".ods": "save the sheet as CSV",
    ".dat": "save it as CSV, MAT or Parquet with the program that wrote it",
    ".tdms": "save it as CSV or HDF5 (npTDMS: `TdmsFile.read(file).as_hdf()`)",
    ".bin": "save it as CSV or MAT with the program that wrote it (ArduPilot: `mavlogdump.py --format csv`)",
    ".npy": "save it as CSV (`numpy.savetxt`) with a line of names, or as MAT (`scipy.io.savemat`)",
    ".npz": "save it as MAT (`scipy.io.savemat(file, dict(numpy.load(file)))`)",
    ".pkl": "save it as CSV or Parquet (pandas: `to_csv`, `to_parquet`): a pickle can run any program",
    ".feather": "save it as Parquet (pandas: `read_feather(file).to_parquet`)",
    ".zip": "unpack it",
    ".7z": "unpack it",
    ".zst": "unpack it",
    ".bz2": "unpack it",
    ".xz": "unpack it",
    ".fit": "save it as CSV; a sports computer's rows, one a second, cannot show weave",
}
BYTES_LOOKED_AT = 4096  # bytes looked at


def read_table(path: str | Path, wanted: Collection[str] = (), **how: object) -> Table:
    """Read the columns of a file of any known format, recognised by how it begins.

    Parameters
    ----------
    path
    wanted
        Columns that are needed, by their names or last parts; files but CSV and MAT give no others, so that a large
        one takes little memory. All where none is named.
    how
        For text: `delimiter`, `encoding`, `missing` and so on; see `text.read`.

    Raises
    ------
    InputError
        The file is missing or empty, damaged, or needs a library that is not installed.
    """
    path = Path(path)
    if path.name == rosbag.METADATA:
        path = path.parent
    try:
        with (path / rosbag.METADATA if path.is_dir() else path).open("rb") as file:
            head = file.read(BYTES_LOOKED_AT)
    except OSError as error:
        raise InputError(
            f"wanted a readable recording, found {path}: {why_unreadable(error)}; check the path"
        ) from error
    for fits, read in FILE_FORMATS.values():
        if fits(head, path.suffix.lower()):
            return read(path, wanted=wanted, **how)
    suffix = path.suffix.lower()
    reader = offered(FORMAT_GROUP, suffix.removeprefix(".")) if suffix else None
    if reader is not None:
        table: Table = reader(path, wanted=wanted, **how)
        return table
    usual = "it does not begin as its suffix says: copy it again" if suffix in RECORDING_SUFFIXES else ""
    remedy = SUFFIX_REMEDIES.get(suffix, usual or "convert it to one of them")
    raise InputError(
        f"wanted a readable file of a known format ({', '.join(FILE_FORMATS)}), found something else in {path}; "
        f"{remedy}"
    )
