"""File formats of others' recordings. A format is one file and one line below."""

from collections.abc import Callable, Collection
from pathlib import Path

from riderless.experiments.recordings.foreign.formats import hdf5, mat, parquet, text
from riderless.experiments.recordings.foreign.table import Table
from riderless.models.errors import InputError
from riderless.models.text_file import why_unreadable

# format: does it begin so? (its first bytes, its suffix in small letters), and its reader; the first that fits
FILE_FORMATS: dict[str, tuple[Callable[[bytes, str], bool], Callable[..., Table]]] = {
    "HDF5 (also MAT 7.3)": (hdf5.fits, hdf5.read),
    "Parquet": (parquet.fits, parquet.read),
    "MAT": (mat.fits, mat.read),
    "CSV": (text.fits, text.read),
}
RECORDING_SUFFIXES = (".csv", ".log", ".tsv", ".mat", ".h5", ".hdf5", ".parquet", ".gz")  # sought in a folder
SUFFIX_REMEDIES = {
    ".xlsx": "save the sheet as CSV",
    ".xls": "save the sheet as CSV",
    ".ods": "save the sheet as CSV",
    ".mf4": "save its channels as CSV or MAT (asammdf: `MDF(file).export('csv')`)",
    ".mdf": "save its channels as CSV or MAT (asammdf: `MDF(file).export('csv')`)",
    ".dat": "save it as CSV, MAT or Parquet with the program that wrote it",
    ".tdms": "save it as CSV or HDF5 (npTDMS: `TdmsFile.read(file).as_hdf()`)",
    ".ulg": "make CSV files of its topics (pyulog: `ulog2csv FILE`), and merge those that are needed",
    ".bin": "save it as CSV or MAT with the program that wrote it (ArduPilot: `mavlogdump.py --format csv`)",
    ".bag": "make a CSV file of its topics (rosbags: `rosbags.highlevel.AnyReader`)",
    ".db3": "make a CSV file of its topics (rosbags: `rosbags.highlevel.AnyReader`)",
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
        Columns that are needed, by their names or last parts; Parquet and HDF5 files give no others, so that a large
        one takes little memory. All where none is named.
    how
        For text: `delimiter`, `encoding`, `missing` and so on; see `text.read`.

    Raises
    ------
    InputError
        The file is missing or empty, damaged, or needs a library that is not installed.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            head = file.read(BYTES_LOOKED_AT)
    except OSError as error:
        raise InputError(
            f"wanted a readable recording, found {path}: {why_unreadable(error)}; check the path"
        ) from error
    for fits, read in FILE_FORMATS.values():
        if fits(head, path.suffix.lower()):
            return read(path, wanted=wanted, **how)
    remedy = SUFFIX_REMEDIES.get(path.suffix.lower(), "convert it to one of them")
    raise InputError(
        f"wanted a readable file of a known format ({', '.join(FILE_FORMATS)}), found something else in {path}; "
        f"{remedy}"
    )
