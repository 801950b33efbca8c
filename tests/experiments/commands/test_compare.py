"""`riderless compare` as a person meets it."""

import json

from tests.experiments.commands.test_cli import riderless  # noqa: F401


def test_a_changed_example_is_found(riderless, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    code, out, err = riderless("compare", "--example")
    assert code == 0, err
    (tmp_path / "mine.csv").write_text(out, encoding="utf-8")
    code, out, err = riderless("compare", "mine.csv")
    assert code == 0, err
    assert out.startswith("Benchmark: the same equations")
    text = (tmp_path / "mine.csv").read_text(encoding="utf-8")
    (tmp_path / "mine.csv").write_text(text.replace("-0.8503", "0.8503"), encoding="utf-8")
    code, out, _ = riderless("compare", "mine.csv")
    assert code == 0
    assert out.startswith("Benchmark: other equations: 1 of 16 entries are wrong")
    assert "C1 delta phi" in out
    assert "the other sign" in out
    document = json.loads(riderless("compare", "mine.csv", "--json")[1])
    assert document["wrong"][0]["looks_like"] == ["the other sign"]
    assert not document["same_motion"]
    assert [each["agrees"] for each in document["coefficients"]].count(False) == 4
