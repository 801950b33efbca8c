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
        For text: `delimiter`, `decimal`, `header_line`, `skip`; see `text.read`.

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
    raise InputError(
        f"wanted a readable file of a known format ({', '.join(FILE_FORMATS)}), found {_guess(head)} in {path}; "
        "convert it to one of them"
    )


def _guess(head: bytes) -> str:
    """Say what else a file may be, by how it begins."""
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "text in UTF-16, where UTF-8 is wanted,"
    if head and b"\0" not in head and sum(byte >= 0x80 for byte in head) < 0.1 * len(head):
        return "text in another encoding than UTF-8, such as Latin-1,"
    return "something else"
