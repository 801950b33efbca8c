"""Texts of other people's logs: encodings, damaged bytes, names in quotes, words for nothing, marks in numbers."""

import gzip

import numpy as np
import pytest

from riderless.experiments.recordings import foreign
from riderless.experiments.recordings.read import read_recording
from riderless.models.errors import InputError

T = np.arange(900) / 60
RATE = 40.0 * np.sin(5.0 * T)  # deg/s
SPEED = 3000.0 + 40.0 * np.cos(0.1 * T)  # mm/s
HEADER, TOML = (
    "Zeit [s]|Gier °/s|Tempo [mm/s]",
    """
[time]
column = "Zeit [s]"
unit = "s"
[phi_dot]
column = "Gier °/s"
unit = "deg/s"
[v]
column = "Tempo [mm/s]"
unit = "mm/s"
""",
)


def log(delimiter=";", form="{:.4f}", header=HEADER):
    """Text of a log: time, lean rate, speed."""
    rows = [delimiter.join(map(form.format, row)) for row in zip(T, RATE, SPEED, strict=True)]
    return "\n".join([header.replace("|", delimiter), *rows]) + "\n"


def read(folder, data, text="", name="log.txt", names=TOML):
    (folder / "log.toml").write_text(names + (f"[text]\n{text}" if text else ""), encoding="utf-8")
    (folder / name).write_bytes(data)
    return foreign.read_foreign(folder / name, folder / "log.toml")


def as_written(response, skip=()):
    """Does the response have the values of the log, but in some rows?"""
    keep = np.ones(len(T), bool)
    keep[list(skip)] = False
    np.testing.assert_allclose(np.degrees(response.phi_dot)[keep], RATE[keep], atol=6e-5)
    np.testing.assert_allclose(1e3 * response.v[keep], SPEED[keep], atol=6e-5)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "latin-1", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("packed", [False, True])
def test_encodings_are_guessed_and_may_be_given(tmp_path, encoding, packed):
    data, name = log().encode(encoding), "log.txt.gz" if packed else "log.txt"
    data = gzip.compress(data) if packed else data
    response = read(tmp_path, data, name=name)
    as_written(response)
    assert any("is no text in UTF-8: read as cp1252" in it for it in response.remarks) == (encoding[:2] in ("cp", "la"))
    response = read(tmp_path, data, f'encoding = "{encoding}"', name)
    as_written(response)
    assert response.remarks == ()


def test_an_encoding_that_python_has_not_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"wanted an encoding such as .* under \[text\] of a mapping, found 'ebcdic'"):
        read(tmp_path, log().encode(), 'encoding = "ebcdic"')


@pytest.mark.parametrize("comment", [False, True])
@pytest.mark.parametrize("byte", [b"\x8f", b"\xff", b"\0"])
def test_a_damaged_byte_takes_one_value_and_is_named(tmp_path, byte, comment):
    lines = log(",").encode().splitlines()
    if comment:  # a column of texts, so that lines are read one by one; what is damaged there concerns nobody
        lines = [lines[0] + b",note", *(line + b",ok" for line in lines[1:])]
        lines[30] = lines[30][:-2] + byte
    lines[612] = lines[612].replace(b".", byte, 2).replace(byte, b".", 1)
    response = read(tmp_path, b"\n".join(lines))
    as_written(response, [611])
    assert f"byte 0x{byte[0]:02X} in line 613, column Gier °/s, is no text: that value is missing" in response.remarks
    assert len(response.remarks) == 2  # and that it is bridged


def test_a_text_of_another_encoding_than_its_names_is_not_called_damaged(tmp_path):
    lines = log(",").encode().splitlines()
    lines[100:200] = [line.replace(b".", b"\xb7") for line in lines[100:200]]
    with pytest.raises(InputError, match=r"found 100 lines in .* no text in utf-8, first byte 0xB7 in line 101"):
        read(tmp_path, b"\n".join(lines))


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_name_in_quotes_may_hold_delimiters(tmp_path, delimiter):
    header = '"Zeit; s, ab Start"|"Gier, °/s; rechts"|Tempo'
    names = TOML.replace("Zeit [s]", "Zeit; s, ab Start").replace("Gier °/s", "Gier, °/s; rechts")
    as_written(read(tmp_path, log(delimiter, header=header).encode(), names=names.replace("Tempo [mm/s]", "Tempo")))


@pytest.mark.parametrize("delimiter", [",", "\t", " "])
@pytest.mark.parametrize("word", ["#N/A", "-1.#IND", "1.#QNAN", "nan(ind)", "None", "--", "NULL", "-"])
def test_usual_words_for_nothing(tmp_path, word, delimiter):
    lines = log(delimiter, header="Zeit|Gier|Tempo").splitlines()
    for row in (100, 333):
        lines[row + 1] = delimiter.join([lines[row + 1].split(delimiter)[0], word, "3000.0"])
    names = TOML.replace(" [s]", "").replace(" °/s", "").replace(" [mm/s]", "")
    response = read(tmp_path, "\n".join(lines).encode(), names=names)
    assert [remark for remark in response.remarks if "Gier: a value is missing" in remark] == [
        f"Gier: a value is missing at {T[row]:.3f} s, not free" for row in (100, 333)
    ]


@pytest.mark.parametrize(("word", "missing"), [("Fehler", '"fehler"'), ("-9999.00", "-9999"), ("***", '"***"')])
def test_other_words_for_nothing_are_given(tmp_path, word, missing):
    lines = log(",").splitlines()
    lines[78] = lines[78].replace(f"{RATE[77]:.4f}", word)
    response = read(tmp_path, "\n".join(lines).encode(), f"missing = [{missing}]")
    as_written(response, [77])
    assert any(f"Gier °/s: a value is missing at {T[77]:.3f} s" in remark for remark in response.remarks)
    if word == "***":
        with pytest.raises(InputError, match=r"say missing = \[\"\*\*\*\"\] under \[text\] of a mapping"):
            read(tmp_path, "\n".join(lines).encode())
    with pytest.raises(InputError, match="wanted words or numbers for missing"):
        read(tmp_path, "\n".join(lines).encode(), "missing = 3")


def test_decimal_commas_that_can_be_nothing_else_are_read_with_a_remark(tmp_path):
    response = read(tmp_path, log().replace(".", ",").encode())
    as_written(response)
    assert response.remarks == (
        "the numbers of log.txt are read with decimal commas; decimal under [text] of a mapping says otherwise",
    )


@pytest.mark.parametrize(
    ("delimiter", "mark", "point"), [(",", ",", "."), (";", ".", ","), ("\t", "'", "."), (",", ".", ",")]
)
def test_marks_between_thousands_are_quoted_and_may_be_given(tmp_path, delimiter, mark, point):
    def written(x):
        return f"{x:,.4f}".translate({ord(","): mark, ord("."): point})

    quote = '"{}"' if delimiter in (mark, point) else "{}"
    rows = [delimiter.join(quote.format(written(x)) for x in row) for row in zip(T, RATE, SPEED, strict=True)]
    data = "\n".join([HEADER.replace("|", delimiter), *rows]).encode()
    decimal = f'decimal = "{point}"\n'
    as_written(read(tmp_path, data, f'{decimal}thousands = "{mark}"'))
    with pytest.raises(InputError) as caught:
        read(tmp_path, data, decimal)
    assert f"found '{written(SPEED[0])}' in column Tempo [mm/s], line 2" in str(caught.value)
    assert f'thousands = "{mark}" under [text] of a mapping' in str(caught.value)


@pytest.mark.parametrize(
    ("suffix", "remedy"),
    [("xlsx", "save the sheet as CSV"), ("mf4", "copy it again"), ("tdms", "npTDMS"), ("abc", "convert it")],
)
def test_a_file_that_no_reader_takes_gets_the_remedy_for_its_suffix(tmp_path, suffix, remedy):
    with pytest.raises(InputError, match=f"found something else in .*; .*{remedy}"):
        read(tmp_path, bytes(range(256)) * 9, name=f"log.{suffix}")


def test_a_file_may_name_its_own_mapping(tmp_path):
    for name, encoding in (("a.csv", "utf-8"), ("b.csv", "utf-16")):
        (tmp_path / name).write_bytes(log(";").encode(encoding))
        (tmp_path / f"{name}.toml").write_text(TOML, encoding="utf-8")
        response = read_recording(f"{tmp_path / name}={tmp_path / name}.toml")
        as_written(response)
        assert response.source == name
