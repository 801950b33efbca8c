"""Every command that writes a file: nothing that lies there is lost by mistake, nor by half; `hil/output_file.py`."""

import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys

import pytest

from tests.experiments.commands.odd_inputs.litter import make_litter
from tests.experiments.commands.test_cli import riderless, run_folder  # noqa: F401

DESIGN = "design silver.toml --speeds 5"
# command whose file follows it, and the suffix that file may have
WRITERS = {
    f"{DESIGN} -o": ".toml",
    f"{DESIGN} --plot": ".svg",
    "eig silver.toml --plot": ".png",
    "modes silver.toml --plot": ".pdf",
    "turns silver.toml --lean 5 --steer 2 --plot": ".svg",
    "export run --to csv -o": ".csv",
    "export run --to parquet -o": ".parquet",
    "export run --to mat -o": ".mat",
    "export run --to mcap -o": ".log",
    "plot run -o": ".svg",
    "hazards rig.toml -o": ".pdf",
    "latency --rate 100 --duration 0.2 --no-load -o": ".json",
}
SLOW = ("latency",)  # real time: seconds each
QUICK = [writer for writer in WRITERS if not writer.startswith(SLOW)]
OLD = b"a person's only copy\n"


@pytest.fixture(scope="module")
def litter(tmp_path_factory, run_folder):  # noqa: F811
    folder = tmp_path_factory.mktemp("litter")
    make_litter(folder, run_folder)
    return folder


@pytest.fixture
def here(litter, tmp_path, monkeypatch):
    """A folder of its own for each case, with a bicycle and a run in it."""
    for name in ("silver.toml", "rig.toml"):
        shutil.copy(litter / name, tmp_path)
    shutil.copytree(litter / "run", tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("writer", WRITERS)
def test_another_file_is_replaced_only_by_force(riderless, here, writer):  # noqa: F811
    path = here / f"old{WRITERS[writer]}"
    path.write_bytes(OLD)
    before = files(here)
    code, out, err = riderless(*shlex.split(writer), path.name)
    assert code == 2, out
    assert f"cannot be written to {path.name}, for something else is there" in err
    assert "--force" in err
    assert files(here) == before
    code, _, err = riderless(*shlex.split(writer), path.name, "--force")
    assert code in (0, 1), err
    assert path.read_bytes() != OLD
    assert not [name for name in files(here) if name.startswith(".")]


@pytest.mark.parametrize("writer", QUICK)
@pytest.mark.parametrize("how", ["itself", "link", "hard link", "around"])
def test_a_log_is_never_replaced_by_whatever_name(riderless, here, writer, how):  # noqa: F811
    log, suffix = here / "run/run.mcap", WRITERS[writer]
    content = log.read_bytes()
    path = {"itself": "run/run.mcap", "around": "run/../run/run.mcap"}.get(how, f"other{suffix}")
    if how == "link":
        (here / path).symlink_to("run/run.mcap")
    elif how == "hard link":
        os.link(log, here / path)
    code, _, err = riderless(*shlex.split(writer), path, "--force")
    assert code == 2
    assert "--force or not" in err or "a figure is written as" in err
    assert log.read_bytes() == content
    assert (here / path).read_bytes() == content


def test_a_copy_of_a_log_under_another_name_is_a_log(riderless, here):  # noqa: F811
    shutil.copy("run/run.mcap", "notes.toml")
    code, _, err = riderless(*shlex.split(DESIGN), "-o", "notes.toml", "--force")
    assert code == 2
    assert "a log, and logs are never replaced, --force or not" in err


@pytest.mark.parametrize("how", ["itself", "link", "hard link", "around"])
@pytest.mark.parametrize(
    ("command", "read"),
    [
        ("design silver.toml --speeds 5 -o", "silver.toml"),
        ("design rig.toml --speeds 5 -o", "rig.toml"),
        ("design mine.toml --speeds 5 -o", "silver.toml"),  # the bicycle that the rig file names
        ("eig silver.svg --plot", "silver.svg"),
        ("latency rig.toml -o", "rig.toml"),
        ("plot run/../log.svg --mapping map.toml -o", "log.svg"),
    ],
)
def test_an_input_is_never_replaced_by_whatever_name(riderless, here, command, read, how):  # noqa: F811
    shutil.copy("silver.toml", "silver.svg")
    (here / "log.svg").write_text("time,a\n1,2\n")
    (here / "map.toml").write_text('bicycle = "silver.toml"\n')
    rig = (here / "rig.toml").read_text().replace('bicycle = "Benchmark"', 'bicycle = "silver.toml"')
    (here / "mine.toml").write_text(rig)
    path = {"itself": read, "around": f"run/../{read}"}.get(how, f"other{os.path.splitext(read)[1]}")
    if how == "link":
        (here / path).symlink_to(read)
    elif how == "hard link":
        os.link(read, path)
    before = files(here)
    code, _, err = riderless(*shlex.split(command), path, "--force")
    assert code == 2
    assert "reads or writes already, --force or not" in err
    assert files(here) == before


@pytest.mark.parametrize("writer", QUICK)
def test_a_folder_is_no_file(riderless, here, writer):  # noqa: F811
    path = here / f"folder{WRITERS[writer]}"
    path.mkdir()
    for more in ((), ("--force",)):
        code, _, err = riderless(*shlex.split(writer), path.name, *more)
        assert code == 2
        assert "a folder: name a file in it" in err
    assert path.is_dir()


ONE_OF_A_KIND = (f"{DESIGN} -o", "eig silver.toml --plot", "export run --to csv -o")  # text, figure, table


@pytest.mark.parametrize(
    "writer",
    [
        pytest.param(writer, marks=[pytest.mark.slow] * (writer not in ONE_OF_A_KIND))
        for writer in QUICK
        if "mcap" not in writer
    ],
)
def test_a_full_device_is_told_and_an_empty_one_takes_it(riderless, here, writer):  # noqa: F811
    for device, wanted in (("/dev/full", 2), ("/dev/null", 0)):
        link = here / f"device{WRITERS[writer]}"
        link.unlink(missing_ok=True)
        link.symlink_to(device)
        code, _, err = riderless(*shlex.split(writer), link.name)
        assert code == wanted, err
        assert os.path.exists(device)
        assert not os.path.isfile(device)
        assert link.is_symlink()


@pytest.mark.parametrize("writer", [f"{DESIGN} -o", "export run --to csv -o"])
def test_a_link_stays_and_its_file_is_written(riderless, here, writer):  # noqa: F811
    (here / "there").mkdir()
    (here / "there/old.toml").write_bytes(OLD)
    (here / "there/old.toml").chmod(0o600)
    (here / "link.toml").symlink_to("there/old.toml")
    assert riderless(*shlex.split(writer), "link.toml")[0] == 2
    assert riderless(*shlex.split(writer), "link.toml", "--force")[0] == 0
    assert (here / "link.toml").is_symlink()
    assert (here / "there/old.toml").read_bytes() != OLD
    assert (here / "there/old.toml").stat().st_mode & 0o777 == 0o600


def test_an_empty_file_is_none(riderless, here):  # noqa: F811
    (here / "new.toml").touch()
    assert riderless(*shlex.split(DESIGN), "-o", "new.toml")[0] == 0


def test_two_outputs_of_one_command_are_two_files(riderless, here):  # noqa: F811
    code, _, err = riderless(*shlex.split(DESIGN), "-o", "both.svg", "--plot", "both.svg")
    assert code == 2
    assert "reads or writes already" in err
    assert not (here / "both.svg").exists()


def test_what_lies_beside_an_export_is_not_lost_either(riderless, here):  # noqa: F811
    (here / "a.header.json").write_bytes(OLD)
    code, _, err = riderless("export", "run", "--to", "csv", "-o", "a.csv")
    assert code == 2
    assert "a.header.json" in err
    assert (here / "a.header.json").read_bytes() == OLD
    assert not (here / "a.csv").exists()


def test_a_report_replaces_a_report_and_nothing_else(riderless, here):  # noqa: F811
    for _ in range(2):
        assert riderless("analyze", "run", "-o", "report")[0] == 0
    obstacles = ("report.html", "report.json", "figures/theirs.svg")
    for name in obstacles:
        folder = here / name.replace("/", "-")
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_bytes(OLD)
        code, _, err = riderless("analyze", "run", "-o", folder.name)
        assert code == 2, name
        assert "for something else is" in err
        assert files(folder) == {name: OLD}
    (here / "all/figures").mkdir(parents=True)
    for name in obstacles:
        (here / "all" / name).write_bytes(OLD)
    assert riderless("analyze", "run", "-o", "all", "--force")[0] == 0
    assert [files(here / "all")[name] == OLD for name in obstacles] == [False, False, True], "a figure of no report"


def test_a_report_does_not_follow_a_link_to_a_log(riderless, here):  # noqa: F811
    (here / "report").mkdir()
    (here / "report/report.html").symlink_to("../run/run.mcap")
    content = (here / "run/run.mcap").read_bytes()
    assert riderless("analyze", "run", "-o", "report", "--force")[0] == 2
    assert (here / "run/run.mcap").read_bytes() == content


def ended(*arguments, before=lambda: None):
    """Exit code and words of `riderless ARGUMENTS` in a process of its own."""
    script = os.path.join(os.path.dirname(sys.executable), "riderless")
    done = subprocess.run(
        [script, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, preexec_fn=before
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


@pytest.mark.parametrize("writer", [pytest.param(f"{DESIGN} --plot", marks=pytest.mark.slow), "export run --to csv -o"])
def test_a_disk_that_fills_up_leaves_the_old_file_whole(here, writer):
    def little_room():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # an error of the write, as on a full disk
        resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))

    (here / f"old{WRITERS[writer]}").write_bytes(OLD)
    before = files(here)
    code, err = ended(*shlex.split(writer), f"old{WRITERS[writer]}", "--force", before=little_room)
    assert code == 2, err
    assert "riderless: " in err
    assert files(here) == before


@pytest.mark.skipif(os.getuid() != 0, reason="who is not root cannot become another person")
def test_a_folder_that_takes_nothing_is_told_before_the_work(here):
    def anybody():
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        os.environ["NUMBA_CACHE_DIR"] = "/nowhere"

    from riderless.hil.output_file import OutputFile
    from riderless.models.errors import InputError

    (here / "closed").mkdir(mode=0o555)
    (here / "closed/old.toml").write_bytes(OLD)
    (here / "closed/old.toml").chmod(0o666)
    read, write = os.pipe()
    if not (child := os.fork()):  # the interpreter itself need not be readable to everybody
        try:
            for folder in reversed([here, *here.parents][:-2]):
                os.chmod(folder, folder.stat().st_mode | 0o111)
            anybody()
            for name in ("closed/new.toml", "closed/old.toml"):
                try:
                    OutputFile(here / name, "the gains", force=True).write("new")
                    os.write(write, b"written\n")
                except InputError as error:
                    os.write(write, f"{error}\n".encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    told = os.fdopen(read).read().splitlines()
    assert len(told) == 2
    assert all("its folder takes no new file" in line for line in told)
    assert (here / "closed/old.toml").read_bytes() == OLD


def test_a_writer_that_breaks_off_leaves_the_old_file(tmp_path):
    from riderless.hil.output_file import OutputFile

    path = tmp_path / "old.toml"
    path.write_bytes(OLD)

    def broken_off():
        with OutputFile(path, "the gains", force=True).draft() as draft:
            draft.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken_off()
    assert files(tmp_path) == {"old.toml": OLD}
