"""Each law of `tests.tools.lint` notices a planted violation, and nothing else."""

import pytest

pytest.importorskip("numpydoc", reason="wants numpydoc, which `make lint` installs")

from tests.tools.lint import File, findings

FOUR = '"""Add.\n\nParameters\n----------\na, b, c : int\n"""'
CLEAN = {"hil/one.py": '"""One."""\nimport riderless.hil.two\n', "hil/two.py": '"""Two."""\nclass Two: ...\n'}


@pytest.mark.parametrize(
    ("path", "text", "sentence"),
    [
        (
            "hil/two.py",
            "def lazy():\n    from riderless.hil import one\n",
            "circle: riderless.hil.one <- riderless.hil.two <- riderless.hil.one",
        ),
        ("hil/three.py", "Two = 2\n", "Two is something else in hil/two.py"),
        ("hil/three.py", '"""What is three."""\n', "begin with an imperative or a noun: 'What is three.'"),
        ("hil/three.py", f"def add(a, b, *c, d=1):\n    {FOUR}\n", "has ['a', 'b', 'c']"),
        ("hil/three.py", '"""Three, unlike `Four.five`."""\n', "five is no name of the code"),
        ("hil/three.py", '"""Three.\n\nReturns\n-------\nfour : Four\n"""\n', "Four is no name of the code"),
        ("hil/three.py", "def three(path):\n    return path.read_text()\n", "read_text without an encoding"),
        ("hil/three.py", "import termios\n", "termios is imported with the file"),
    ],
)
def test_a_planted_violation_is_found(path, text, sentence):
    files = [File(*item) for item in {**CLEAN, path: text}.items()]
    found = findings(files)
    assert [where for where, _, _ in found] == [path] or "circle" in sentence
    assert len(found) == 1
    assert sentence in found[0][2]


def test_nothing_is_found_where_nothing_is_wrong():
    assert findings([File(*item) for item in CLEAN.items()]) == []
