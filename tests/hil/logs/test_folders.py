"""Folders of runs and campaigns: a name is taken once."""

from riderless.hil.logs.folders import folder_stem, new_folder


def test_a_taken_name_gets_the_next_free_number(tmp_path):
    for expected in ("silver-lqr-5.0-m-s", "silver-lqr-5.0-m-s-2", "silver-lqr-5.0-m-s-3"):
        folder = new_folder(tmp_path, "Silver lqr 5.0 m/s")
        assert folder == tmp_path / expected
        folder.mkdir()
    (tmp_path / "silver-lqr-5.0-m-s-2").rmdir()
    assert new_folder(tmp_path, "Silver lqr 5.0 m/s").name == "silver-lqr-5.0-m-s-2"


def test_a_name_holds_nothing_a_file_system_minds():
    assert folder_stem(" Ü/../kick: 5 N s ") == "..-kick-5-n-s"
