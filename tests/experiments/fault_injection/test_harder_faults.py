"""Longer rides, sets of faults, slow ones, and the search for the unsafe: safe, repeatable, and able to fail."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from riderless.experiments.fault_injection import campaign
from riderless.experiments.fault_injection.cases import CaseOptions, FaultPart, draw_case
from riderless.experiments.fault_injection.danger import longest_old_command, measure_danger
from riderless.experiments.fault_injection.judge import judge_case
from riderless.experiments.fault_injection.promises import (
    NO_ANSWER,
    NO_WATCHDOG,
    RODE_THROUGH,
    hidden_by,
    undefended,
)
from riderless.experiments.fault_injection.ride_plan import RUN_AT, FaultOnset, RidePlan
from riderless.experiments.fault_injection.search.evaluation import evaluate_genes, evaluating
from riderless.experiments.fault_injection.search.evolution import search_unsafe
from riderless.experiments.fault_injection.search.genes import (
    GENE_VALUES,
    case_of_genes,
    code_of_genes,
    count_genes,
    genes_of_code,
)
from riderless.experiments.fault_injection.simulate import play_case
from riderless.experiments.fault_injection.summary_table import (
    DANGER_COLUMNS,
    campaign_markdown,
    summary_markdown,
    summary_text,
    tally,
)
from riderless.experiments.fault_injection.threats.fault_list import THREATS, ThreatPool, threats_of
from riderless.experiments.fault_injection.threats.fault_spec import Shape
from riderless.experiments.fault_injection.threats.slow_faults import SLOW_THREATS
from riderless.firmware_interface.twins.faults import READING_NAMES, TO_COMPUTER, TO_NODE, Fault
from riderless.firmware_interface.twins.faults import FaultKind as Kind
from riderless.hil.loop.states import State
from riderless.models.errors import InputError
from tests.experiments.fault_injection.test_fault_injection import altered, case_of

PAIRS = CaseOptions(together=2)
TRIPLES = CaseOptions(together=3, pool=ThreatPool.ALL)
SLOW = CaseOptions(length=15.0, pool=ThreatPool.SLOW)
LIMIT = 0.52  # rad, of lean


def no_contradiction(loop):
    """Put the comparisons between sensors, which find lying ones, out of action."""
    for limit in {"lean_error", "steer_error", "gyro_drift", "side_force"}.intersection(loop.limits.dtype.names):
        loop.limits[limit] = 100.0


# longer rides


@pytest.mark.parametrize("length", [1.8, 60.1, float("nan")])
def test_lengths_of_nonsense_are_refused(length):
    with pytest.raises(InputError, match=r"between 1\.9 and 60 s"):
        CaseOptions(length=length)


def test_a_long_ride_is_long_and_kicked_throughout():
    case = replace(draw_case(3, 0, CaseOptions(length=20.0)), faults=())
    played = play_case(case)
    running = played.rows["t_host"][played.rows["state"] == State.RUNNING]
    assert running[0] == pytest.approx(RUN_AT, abs=0.02)
    assert running[-1] - running[0] == pytest.approx(20.0, abs=0.02)
    assert len(case.scenario.kicks) == 6
    assert np.diff([kick.t for kick in case.scenario.kicks]) == pytest.approx(3.2)
    assert np.abs(played.diary["phi"][played.diary["t"] > 15.0]).max() > np.radians(1.0)  # the later ones arrive


def test_moments_of_a_long_ride_are_what_they_are_called():
    plan = RidePlan(30.0)
    for share in (0.0, 0.5, 0.999):
        kick = plan.onset(FaultOnset.IN_A_KICK, share) - 2.16  # the first one began then
        assert 0.0 < kick % 3.2 < 0.1
        assert RUN_AT < plan.onset(FaultOnset.RUNNING, share) < RUN_AT + 18.0
    assert plan.onset(FaultOnset.IN_A_KICK, 0.999) > 25.0


def test_a_long_ride_that_ended_early_is_played_until_it_is_quiet():
    case = replace(draw_case(3, 0, CaseOptions(length=30.0)), faults=(Fault(Kind.STOP_BUTTON, start=4.0),))
    played = play_case(case)
    assert 5.0 < played.rows["t_host"][-1] < 7.0
    assert len(played.rows) == len(played.diary)
    assert sum(map(len, played.tapes)) == int(played.rows["n_wire"].sum())


# slow faults


def test_slow_faults_strike_every_channel():
    assert {t.channels[0] for t in SLOW_THREATS if t.what is Kind.DRIFT} == set(READING_NAMES)
    others = {t.what for t in SLOW_THREATS} - {Kind.DRIFT}
    assert others == {Kind.SLIP, Kind.DRIVE_GAIN, Kind.DRIVE_LIES, Kind.BUS, Kind.CLOCK_JUMP}


def test_slow_faults_come_slowly():
    for index in range(5 * len(SLOW_THREATS)):
        case = draw_case(6, index, SLOW)
        steps = case.faults
        if case.threat.shape is Shape.GROWS:
            assert len(steps) == 1
            lasts, (least, most) = steps[0].stop - steps[0].start, case.threat.lasting
            assert least <= lasts <= most
            assert least >= 1.0 or "slips in some samples" in case.threat.name
        elif case.threat.shape is Shape.SKIPS:
            assert len({step.size for step in steps}) == 1
            assert np.diff([step.start for step in steps]) == pytest.approx(steps[1].start - steps[0].start)
        else:
            sizes = np.array([case.threat.right] + [step.size for step in steps])
            assert np.diff(sizes) == pytest.approx(sizes[1] - sizes[0])
            assert [step.stop for step in steps[:-1]] == [step.start for step in steps[1:]]


def test_an_encoder_that_skips_is_seen_by_the_loop_again_and_again():
    index = next(i for i, t in enumerate(SLOW_THREATS) if t.shape is Shape.SKIPS)
    case = draw_case(1, index, SLOW)
    case = replace(case, faults=tuple(Fault(Kind.SLIP, 0.02, start=3.0 + i, channel="delta") for i in range(3)))
    played = play_case(case, no_contradiction)
    off = played.rows["delta_meas"] - played.diary["delta"]
    for t, slipped in ((2.9, 0.0), (3.5, 0.02), (4.5, 0.04), (5.5, 0.06)):
        assert off[np.searchsorted(played.diary["t"], t)] == pytest.approx(slipped, abs=0.006)


# attacks


@pytest.fixture(scope="module")
def attacks():
    return campaign.run_cases(90, seed=11, jobs=1, options=CaseOptions(pool=ThreatPool.ATTACK))


def test_attacks_on_the_line_are_safe_and_found(attacks):
    assert [(v.index, v.threat, v.complaints) for v in attacks if v.complaints] == []
    assert max(v.danger.old for v in attacks) <= 0.05
    assert sum(v.outcome == "FOREIGN_COMMANDS" for v in attacks) > 10


def test_an_order_to_stop_that_answers_an_old_sample_is_left_to_the_watchdog():
    """The node refuses it as old, so the torque may take the 25 ms of its watchdog longer, and no more."""
    case = draw_case(230005, 412, CaseOptions(pool=ThreatPool.ATTACK))
    played = play_case(case)
    stopped = int(np.argmax(played.rows["cause"] > 0))
    switched_off = int(np.flatnonzero(played.diary["on"])[-1])
    assert 2 < switched_off - stopped <= 5
    assert judge_case(case, played).complaints == ()


# sets


def test_the_first_fault_of_a_set_is_that_of_the_case_alone():
    for index in range(40):
        alone, pair = draw_case(9, index), draw_case(9, index, PAIRS)
        assert (pair.threat, pair.faults, pair.machine, pair.onset) == (
            alone.threat,
            alone.faults,
            alone.machine,
            alone.onset,
        )
        assert len(pair.parts) == 2
        assert set(pair.faults) <= set(pair.all_faults)


def test_sets_are_drawn_from_everything():
    names = {part.threat.name for i in range(1500) for part in draw_case(4, i, TRIPLES).others}
    assert names == {threat.name for threat in threats_of(ThreatPool.ALL) if not threat.refused}
    apart = [abs(case.others[0].onset - case.onset) for case in (draw_case(4, i, PAIRS) for i in range(300))]
    assert 0.3 < np.mean(np.array(apart) < 0.3) < 0.9  # some at once, some far apart


def test_no_threat_is_met_twice_in_a_set():
    drawn = [draw_case(20261122, index, PAIRS) for index in range(8400, 8500)]
    assert all(len({part.threat.name for part in case.parts}) == 2 for case in drawn)
    alike = np.zeros(count_genes(PAIRS), int)
    assert len({part.threat.name for part in case_of_genes(alike, PAIRS).parts}) == 2


@pytest.mark.parametrize("together", [0, 4])
def test_sets_of_nonsense_are_refused(together):
    with pytest.raises(InputError, match="by 1 to 3"):
        CaseOptions(together=together)


def of_two(first: str, *faults: Fault, second: str) -> object:
    """A case of two threats, the second one with these faults."""
    threat = next(t for t in THREATS if t.name == second)
    case = case_of(first)
    return replace(case, others=(FaultPart(threat, case.moment, faults[0].start, faults),), options=PAIRS)


def test_both_faults_of_a_pair_strike():
    case = of_two("torque reading biased", Fault(Kind.BUS, 12.0, start=2.0), second="low supply")
    case = replace(case, faults=(Fault(Kind.BIAS, 0.5, start=1.9, channel="T"),))
    rows = play_case(case).rows
    t = rows["t_host"]
    assert rows["bus_meas"][t > 2.02].max() == pytest.approx(12.0)
    assert np.mean(rows["T_meas"][(t > 1.9) & (t < 2.0)] - rows["T_est"][(t > 1.9) & (t < 2.0)]) > 0.3


def test_a_fault_of_a_pair_that_is_not_found_is_told():
    case = of_two("one bit flipped, once", Fault(Kind.BUS, 12.0, start=1.9), second="low supply")

    def sleep(loop):
        loop.limits["bus_min"] = 0.1

    assert judge_case(case, play_case(case)).complaints == ()
    (complaint,) = judge_case(case, play_case(case, sleep)).complaints
    assert complaint.startswith("low supply: torque for")


def test_what_no_program_can_promise_is_excepted_by_name():
    deaf = of_two("drive deaf", Fault(Kind.BUS, 12.0, start=1.9), second="low supply")
    assert undefended(deaf) == NO_ANSWER
    cut = of_two("watchdog dead", Fault(Kind.DROP, start=1.9, way=TO_NODE), second="no commands")
    assert undefended(cut) == NO_WATCHDOG
    verdict = judge_case(cut, play_case(cut))
    assert verdict.declared == NO_WATCHDOG
    whole = of_two("watchdog dead", Fault(Kind.BUS, 12.0, start=1.9), second="low supply")
    assert undefended(whole) == ""


def test_a_fault_is_hidden_only_by_one_of_the_same_reading_or_a_step_by_the_line():
    def part(name: str, *faults: Fault) -> FaultPart:
        return FaultPart(next(t for t in THREATS if t.name == name), FaultOnset.RUNNING, 2.0, faults)

    slip = part("steer encoder slips far", Fault(Kind.SLIP, 0.2, start=2.0, channel="delta"))
    noisy = part("steer encoder noisy", Fault(Kind.NOISY, 0.02, start=2.0, channel="delta"))
    gyro = part("gyro noisy", Fault(Kind.NOISY, 0.1, start=2.0, channel="phi_dot"))
    lost = part("frames lost now and then", Fault(Kind.DROP, start=2.0))
    stuck = part("gyro or accelerometer axis stuck", Fault(Kind.STUCK, start=2.0, channel="phi_dot"))
    assert hidden_by(slip, (noisy,)) == "steer encoder noisy"
    assert hidden_by(slip, (gyro, lost)) == "frames lost now and then"
    assert hidden_by(slip, (gyro,)) == hidden_by(stuck, (lost,)) == ""


def test_a_lossy_line_is_hidden_by_copies_on_the_same_way():
    def part(name: str, fault: Fault) -> FaultPart:
        return FaultPart(next(t for t in THREATS if t.name == name), FaultOnset.RUNNING, 2.0, (fault,))

    noise = part("noise before most frames", Fault(Kind.NOISE, 3.0, start=2.0, way=TO_NODE))
    copies = part("frames doubled", Fault(Kind.DUPLICATE, start=2.0, way=TO_NODE))
    others = part("frames doubled", Fault(Kind.DUPLICATE, start=2.0, way=TO_COMPUTER))
    assert hidden_by(noise, (copies,)) == "frames doubled"
    assert hidden_by(noise, (others,)) == hidden_by(copies, (noise,)) == ""


def test_a_zero_that_is_lost_is_hidden_by_a_drive_that_follows_by_too_much():
    """Steer = 1.6 command - 0.19 rad: where the command is 0.31 rad nothing strays."""
    zero, follows = draw_case(250010, 489, CaseOptions(together=2, drive="angle")).parts
    names = ("drive has lost its zero", "steer follows by too little or too much")
    assert (zero.threat.name, follows.threat.name) == names
    assert hidden_by(zero, (follows,)) == follows.threat.name
    assert hidden_by(zero, (replace(follows, faults=(Fault(Kind.BUS, 12.0, start=2.0),)),)) == ""


@pytest.mark.parametrize(
    ("seed", "index", "options"),
    [
        (250011, 5457, CaseOptions(pool=ThreatPool.SLOW)),  # torque for 0.59 s beyond 30 deg, in a turn of 30.0 to 30.2
        (250004, 6217, PAIRS),  # a drive that reverses, noticed 50 ms late in bursts
        (354001, 397, CaseOptions(drive="rate")),  # an encoder turned round, found as a drive that disobeys
        (354007, 593, CaseOptions(drive="rate")),  # frames 27 ms late, which the node takes for somebody else's
        (355007, 89, CaseOptions(drive="angle", pool=ThreatPool.SLOW)),  # a clock, and a balance that suffers from it
        (354010, 79, CaseOptions(drive="angle")),  # a lost zero, hidden for 1.5 s by a push that takes all the torque
        (354005, 431, CaseOptions(drive="angle")),  # bursts too late to balance it, told as a drive at its limit
        (250003, 4960, CaseOptions(drive="angle")),  # an axis that rests, contradicted before it has rested for 0.1 s
        (250010, 489, CaseOptions(together=2, drive="angle")),
    ],
)
def test_what_studies_found_is_mended(seed, index, options):
    case = draw_case(seed, index, options)
    assert judge_case(case, play_case(case)).complaints == ()


@pytest.fixture(scope="module")
def pairs():
    return campaign.run_cases(200, seed=4242, jobs=1, options=PAIRS)


def test_pairs_are_safe(pairs):
    assert [(v.index, v.complaints) for v in pairs if v.complaints] == []
    assert 0 < sum(v.outcome == RODE_THROUGH for v in pairs) < len(pairs)
    assert sum(bool(v.declared) for v in pairs) < 0.06 * len(pairs)  # what is excepted stays an exception


def test_a_table_of_pairs_has_a_row_for_each_two_families(pairs):
    rows = tally([replace(v, complaints=("a promise",)) if v.index == 5 else v for v in pairs], 4242, PAIRS)
    assert [row.fault for row in rows] == sorted({v.families for v in pairs})
    assert sum(row.cases for row in rows) == len(pairs)
    assert sum(row.excepted for row in rows) == sum(bool(v.declared) for v in pairs)
    (violation,) = [v for row in rows for v in row.violations]
    assert violation.endswith("a promise: riderless faults --together 2 --seed 4242 --case 5")
    assert summary_markdown(rows).splitlines()[0].count("|") == len(DANGER_COLUMNS) + 1
    assert "torque by old commands" in summary_text(rows)
    assert "`riderless faults --together 2 --seed 4242`\n\n200 cases" in campaign_markdown(rows, 4242, options=PAIRS)


# old commands


def test_commands_of_a_healthy_ride_are_new():
    assert longest_old_command(play_case(case_of("one bit flipped, once"))) <= 0.01


@pytest.mark.parametrize(
    ("changes", "lasts"),
    [
        ({"d_command_seq": (600, 5)}, 0.6),  # a recorded one, again and again
        ({"d_T_asked": (600, 3.0)}, 0.6),  # torque that nobody asked for
    ],
)
def test_commands_that_are_not_new_are_counted(changes, lasts):
    played = altered(play_case(case_of("one bit flipped, once")), d_T_asked=(600, 1.0), d_T=(0, 0.0))
    before = longest_old_command(replace(played, rows=altered(played, T_cmd=(600, 1.0)).rows))
    assert before <= 0.05
    assert longest_old_command(altered(played, **changes)) >= lasts


def test_an_old_command_that_is_obeyed_breaks_a_promise():
    case = case_of("one bit flipped, once")
    complaints = judge_case(case, altered(play_case(case), d_T_asked=(500, 1.0))).complaints
    assert any("of which none was new" in complaint for complaint in complaints), complaints


# search


def test_genes_and_their_code_say_the_same_case():
    options = TRIPLES
    genes = np.random.default_rng(5).integers(GENE_VALUES, size=count_genes(options))
    case = case_of_genes(genes, options)
    again = case_of_genes(genes_of_code(code_of_genes(genes), options), options)
    assert (case.parts, case.machine, case.scenario) == (again.parts, again.machine, again.scenario)
    assert case.replay == f"riderless faults --together 3 --threats all --case {code_of_genes(genes)}"


@pytest.mark.parametrize("code", ["g", "gabc", "g" + 33 * "0" + "!"])
def test_codes_of_nonsense_are_refused(code):
    with pytest.raises(InputError, match="34 letters"):
        genes_of_code(code, CaseOptions())


def test_genes_reach_every_threat_bicycle_and_moment():
    rng = np.random.default_rng(1)
    cases = [case_of_genes(rng.integers(GENE_VALUES, size=count_genes(SLOW)), SLOW) for _ in range(300)]
    assert {case.threat for case in cases} == {threat for threat in SLOW_THREATS if not threat.unseen}
    assert {case.machine for case in cases} == set(SLOW.space.machines)
    assert {case.moment for case in cases} == {FaultOnset.ARMED, FaultOnset.RUNNING, FaultOnset.IN_A_KICK}


def test_danger_is_nearer_the_more_the_bicycle_leans_and_unsafe_beyond_half_a_second():
    played = altered(play_case(case_of("one bit flipped, once")), d_T=(0, 0.0))
    levels = []
    for lean, last in ((0.1, 420), (0.3, 420), (0.6, 420), (0.6, 480), (0.6, 540)):
        one = altered(played, d_phi=(400, lean))
        one.diary["T"][:last] = 1.0
        levels.append(measure_danger(one, LIMIT).level)
    assert levels == sorted(levels)
    assert len(set(levels)) == len(levels)
    assert levels[3] < 1.0 < levels[4]


def evaluate_sabotaged(sabotage, population, options):
    return [evaluate_genes(genes, options, sabotage) for genes in population]


@pytest.mark.slow
def test_a_search_finds_what_chance_hardly_does():
    """With the comparisons of sensors asleep 200 searched cases find more than twice what 200 drawn ones do."""
    options = CaseOptions(length=6.0, pool=ThreatPool.SLOW)
    report = search_unsafe(200, 3, options, partial(evaluate_sabotaged, no_contradiction))
    drawn = [draw_case(3, index, options) for index in range(200)]
    found = sum(bool(judge_case(case, play_case(case, no_contradiction)).complaints) for case in drawn)
    assert report.unsafe > 2 * max(found, 1)
    assert report.level > 1.0


def test_a_search_is_the_same_on_any_number_of_processes():
    def found(jobs: int, seed: int) -> list[tuple]:
        with evaluating(jobs) as evaluate:
            return [(one.replay, one.level) for one in search_unsafe(70, seed, CaseOptions(), evaluate).worst]

    alone = found(1, 2)
    assert alone == found(2, 2)
    assert alone != found(1, 5)


@pytest.mark.parametrize(("count", "seed"), [(0, 1), (10, -1)])
def test_searches_of_nonsense_are_refused(count, seed):
    with pytest.raises(InputError, match="a search wants 1 case or more"):
        search_unsafe(count, seed, CaseOptions(), lambda genes, options: [])
