"""`riderless design`: what the table says of the weave, gains for measuring, and the figure."""

import json

import pytest

from riderless.hil.design.margins import Margins
from riderless.hil.design.methods import design
from riderless.hil.design.schedule import GainSchedule
from riderless.hil.rig.file import read_rig
from riderless.hil.rig.fitting import require_fitting
from riderless.models.catalogue import load_bicycle
from tests.experiments.commands.test_cli import riderless  # noqa: F401
from tests.paths import DOCS


def test_the_table_says_at_which_speeds_the_weave_can_be_measured(riderless):  # noqa: F811
    code, out, _ = riderless("design", "Silver", "--speeds", "4,5,7.5")
    assert code == 0
    assert "weave measurable" in out
    assert out.count("no, 0.") == 2
    assert out.count("yes, 1.") == 1
    shown = design(load_bicycle("Silver"), "lqr", (4.0, 5.0, 7.5)).margins  # one form, wherever margins are told
    assert all(gain in out and f" {phase} " in out for gain, phase, _ in map(Margins.as_text, shown))
    assert "cannot be measured at 4 to 5 m/s: --method lqr --for measuring damps it less" in out
    rows = json.loads(riderless("design", "Silver", "--speeds", "4,5,7.5", "--json")[1])["rows"]
    assert [row["weave_measurable"] for row in rows] == [False, False, True]
    assert 0.5 < rows[0]["weave_cycles"] < 1.0 < rows[2]["weave_cycles"]


def test_gains_for_measuring_are_those_of_campaigns_and_say_so(riderless, tmp_path):  # noqa: F811
    from riderless.experiments.campaigns.protocols.plan_inputs import NamedController

    path = tmp_path / "gains.toml"
    code, out, _ = riderless("design", "Silver", "--for", "measuring", "--speeds", "4,4.5,5", "-o", path)
    assert code == 0
    assert "Silver, lqr, gentle for measuring" in out
    assert out.count("yes, ") == 3
    gentle = GainSchedule.from_toml(path)
    campaign = NamedController("lqr", "lqr").schedule(gentle.bicycle, [4.0, 4.5, 5.0], gentle.loop)
    assert gentle.K.tolist() == campaign.K.tolist()
    assert gentle.options["weights"]["T_delta"] == 0.03


def test_an_option_set_beside_for_measuring_has_the_last_word(riderless):  # noqa: F811
    line = (
        "design",
        "Silver",
        "--method",
        "poles",
        "--for",
        "measuring",
        "--set",
        "zeta=0.3",
        "--speeds",
        "5",
        "--json",
    )
    weave = next(complex(*s) for s in json.loads(riderless(*line)[1])["rows"][0]["closed_loop"] if s[1] > 0.0)
    assert -weave.real / abs(weave) == pytest.approx(0.3, rel=1e-6)


def test_a_method_without_gentle_gains_is_refused(riderless):  # noqa: F811
    code, _, err = riderless("design", "Silver", "--method", "lean", "--for", "measuring")
    assert code == 2
    assert "lean has no gentle gains; take --method lqr or --method poles" in err


def test_measured_from_design_to_window(riderless, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    assert riderless("design", "Silver", "--for", "measuring", "-o", "gains.toml")[0] == 0
    for v in ("4", "5"):
        kicks = [word for i in range(3) for word in ("--kick", f"{0.6 + 3.2 * i},{(-1) ** i * 4}")]
        line = ["simulate", "Silver", "--model", "linear", "--speed", v, "--controller", "gains.toml", "-o", v]
        assert riderless(*line, *kicks, "--duration", "10.2")[0] == 0
        code, out, _ = riderless("analyze", v, "--json")
        assert code == 0
        assert len(json.loads(out)["windows"]) == 3


def test_a_rig_file_brings_bicycle_and_timing(riderless, tmp_path):  # noqa: F811
    rig, path = DOCS / "rigs/vectornav-vesc.toml", tmp_path / "gains.toml"
    assert riderless("design", rig, "--speeds", "4:6:1", "-o", path)[0] == 0
    gains = GainSchedule.from_toml(path)
    assert gains.bicycle.name == "Benchmark"
    assert (gains.rate, gains.delay, gains.drive_lag) == pytest.approx(
        (200.0, 0.4, 0.005)
    )  # 2 ms of 5, as the file says
    code, _, err = riderless("design", rig, "--delay", "1", "--rate", "100")
    assert code == 2
    assert "--rate and --delay would be ignored: the rig file" in err


def test_a_rig_file_brings_its_drive(riderless, tmp_path):  # noqa: F811
    rig, path = DOCS / "rigs/rate-drive.toml", tmp_path / "gains.toml"
    assert riderless("design", rig, "--speeds", "4:6:1", "-o", path)[0] == 0
    drive = GainSchedule.from_toml(path).drive
    assert drive is not None
    assert (drive.kind, drive.bandwidth, drive.damping) == ("rate", 50.0, 1.0)
    require_fitting(read_rig(rig), GainSchedule.from_toml(path))
    code, _, err = riderless("design", rig, "--drive", "angle", "--damping", "2")
    assert code == 2
    assert "--drive and --damping would be ignored: the rig file" in err


@pytest.mark.parametrize(
    ("line", "worst"),
    [
        (["--speeds", "0"], "at 0 m/s an eigenvalue of +101 1/s"),
        (["--speeds", "0,2"], "at 0 m/s an eigenvalue of +101 1/s"),
        (
            ["--drive", "angle", "--method", "cascade", "--bandwidth", "80", "--damping", "1", "--speeds", "4,5"],
            "+10.3",
        ),
    ],
)
def test_a_loop_that_falls_with_its_observer_is_told(riderless, line, worst):  # noqa: F811
    code, out, _ = riderless("design", "Silver", *line)
    assert code == 0
    assert "with the observer of the loop it falls" in out
    assert worst in out
    rows = json.loads(riderless("design", "Silver", *line, "--json")[1])["rows"]
    assert max(row["whole_loop_growth"] for row in rows) > 5.0


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_the_figure_is_written(riderless, tmp_path, suffix):  # noqa: F811
    figure = tmp_path / f"design{suffix}"
    code, out, _ = riderless("design", "Silver", "--speeds", "3:6:1", "--plot", figure)
    assert code == 0
    assert f"figure written to {figure}" in out.replace("\n", "")
    assert figure.stat().st_size > 5000


def test_a_figure_of_another_format_is_refused_before_anything_is_designed(riderless, tmp_path):  # noqa: F811
    code, _, err = riderless("design", "Silver", "--plot", tmp_path / "design.jpg", "-o", tmp_path / "gains.toml")
    assert code == 2
    assert "end the name in one of them" in err
    assert not (tmp_path / "gains.toml").exists()


def test_the_figure_shows_gains_eigenvalues_and_margins():
    import numpy as np

    from riderless.experiments.reports.loop import plot_design
    from riderless.hil.design.methods import design
    from riderless.models.catalogue import load_bicycle

    schedule = design(load_bicycle("Silver"), "lqr", [3.0, 4.0, 5.0])
    axes = {ax.get_title(loc="left"): ax for ax in plot_design(schedule).axes}
    assert list(axes) == [
        "gains on angles  [N m/rad]",
        "gains on rates  [N m s/rad]",
        "gains on the drive  [1]",
        "Re λ  [1/s]",
        "Im λ  [rad/s]",
        "gain margin, factors",
        "phase margin  [deg]",
        "delay margin  [ms]",
    ]
    np.testing.assert_array_equal(axes["gains on angles  [N m/rad]"].lines[1].get_ydata(), schedule.K[:, 1])
    phase = axes["phase margin  [deg]"].lines[0].get_ydata()
    np.testing.assert_allclose(phase, [np.degrees(margins.phase) for margins in schedule.margins])
    drawn = {round(float(y), 9) for line in axes["Im λ  [rad/s]"].lines for y in np.ravel(line.get_ydata())}
    waves = schedule.closed_loop.imag
    assert all(round(float(value), 9) in drawn for value in waves[waves > 0.0])


@pytest.mark.parametrize("bicycle", ["Silver", "Benchmark", "Rigid"])
def test_no_gain_is_drawn_over_the_names_of_the_gains(bicycle):
    import numpy as np

    from riderless.experiments.reports.loop import plot_design
    from riderless.hil.design.methods import design
    from riderless.models.catalogue import load_bicycle

    figure = plot_design(design(load_bicycle(bicycle), "lqr", [3.0, 4.0, 5.0, 6.0]))
    figure.canvas.draw()
    for ax in figure.axes[:3]:
        names = ax.get_legend().get_window_extent()
        assert names.x0 >= ax.get_window_extent().x0
        for line in ax.get_lines()[:2]:
            v = np.linspace(3.0, 6.0, 61)
            points = ax.transData.transform(np.column_stack([v, np.interp(v, *line.get_data())]))
            assert not any(names.contains(x, y) for x, y in points)


@pytest.mark.parametrize(("method", "speeds"), [("off", [3.0, 5.0]), ("lqr", [5.0])])
def test_the_figure_of_gains_without_limits_and_of_one_speed(tmp_path, method, speeds):
    from riderless.experiments.reports.loop import plot_design
    from riderless.hil.design.methods import design
    from riderless.models.catalogue import load_bicycle

    path = tmp_path / "design.png"
    plot_design(design(load_bicycle("Silver"), method, speeds), path=path)
    assert path.stat().st_size > 5000


def test_a_controller_with_states_is_designed_written_and_read(riderless, tmp_path):  # noqa: F811
    from riderless.hil.controllers.lti import LTIController

    file = tmp_path / "lqg.toml"
    code, out, _ = riderless("design", "Rigid", "--method", "lqg", "--speeds", "4,5", "-o", str(file))
    assert code == 0
    assert "whole sampled loop" in out
    made = LTIController.from_text(file.read_text(encoding="utf-8"))
    assert (made.method, made.bicycle.name, made.v.tolist()) == ("lqg", "Rigid", [4.0, 5.0])


def test_a_controller_with_states_is_drawn_and_tells_its_margins(riderless, tmp_path):  # noqa: F811
    figure = tmp_path / "lqg.svg"
    line = ("design", "Rigid", "--method", "lqg", "--for", "measuring", "--speeds", "4,5", "--plot", figure)
    code, out, _ = riderless(*line)
    assert code == 0
    assert "phase margin deg" in out
    assert all(len(said) <= 80 for said in out.splitlines() if "written to" not in said)
    for words in ("Rigid, lqg", "phase margin", "delay margin", "gain margin"):
        assert words in figure.read_text(encoding="utf-8")
    rows = json.loads(riderless(*line[:-2], "--json")[1])["rows"]
    assert all(row["gain_margin"][0] < 1.0 < row["gain_margin"][1] and row["delay_margin"] > 0.005 for row in rows)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--method", "lqg", "--set", "steer_noise=-1"], "the LQG option steer_noise must be a number above 0"),
        (["--method", "yaw_rate", "--set", "kp=3", "--set", "ki=3"], "yaw_rate does not balance Rigid"),
    ],
)
def test_a_controller_with_states_that_cannot_be_is_refused_in_a_sentence(riderless, arguments, sentence):  # noqa: F811
    code, _, said = riderless("design", "Rigid", *arguments)
    assert code == 2
    assert sentence in " ".join(said.split())
