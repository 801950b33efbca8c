"""What the site is made of: every page has its place, every cause its first look, the generated pages are whole."""

import sys

import pytest

from riderless.experiments.cli import COMMANDS
from riderless.experiments.fault_injection.threats.fault_list import ThreatPool, threats_of
from riderless.experiments.reports.hazards import hazards_of
from riderless.hil.loop.limits import RANGES
from riderless.hil.loop.states import Cause
from riderless.hil.loop.tick_record import LOG_COLUMNS
from riderless.hil.loop.transitions import RULES
from riderless.hil.rig.reported_values import REPORTED_VALUES
from riderless.hil.rig.rig import Rig
from riderless.models import load_bicycle
from riderless.models.parameter_table import PARAMETERS
from tests.paths import DOCS

sys.path.insert(0, str(DOCS))
from site_builder import causes, columns, commands, files, hazards, promises, supervisor

LISTS = [DOCS / part / "index.md" for part in ("lessons", "howto", "explanations", "reference")]


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.parent.name)
def test_every_page_of_a_part_is_in_its_list(path):
    listed = path.read_text(encoding="utf-8")
    assert all(page.stem in listed for page in path.parent.glob("*.md") if page != path)


def test_every_cause_is_told_with_what_to_look_at_first():
    advice, meanings = (DOCS / "howto/troubleshooting.md").read_text(encoding="utf-8"), causes.page()
    for cause in Cause:
        assert f"`{cause.name}`" in advice, cause
        assert f"| {cause.value} | `{cause.name}` |" in meanings, cause


def test_the_page_of_commands_has_every_command_and_option():
    page = commands.page()
    assert all(f"## {name}\n" in page for name in COMMANDS)
    assert all(
        option in page
        for option in ("`--force`", "`--allow-unstable`", "`--rollout-m <float>`", "--install-completion")
    )


def test_the_page_of_files_has_every_key():
    page = files.page()
    assert all(f"| `{name}` |" in page for name in (*PARAMETERS, *RANGES))
    for key in (
        "drive_lag_s",
        "watchdog_s",
        "share_of_limits",
        "speeds_m_s",
        "steer_into_lean",
        "torque_constant_Nm_A",
    ):
        assert f"`{key}`" in page, key
    assert "| `rate_Hz` | number | `200` | above 10 to 2000 |" in page


def test_the_page_of_columns_has_every_column():
    page = columns.page()
    for column in LOG_COLUMNS.values():
        assert f"| `{column.name}` | {column.unit} | {column.meaning} |" in page


def test_the_appendices_have_every_event_fault_and_hazard():
    events, promised, dangers = supervisor.page(), promises.page(), hazards.page()
    assert all(f"| {rule.event} |" in events for rule in RULES)
    assert all(f"| `{value.name}` |" in events for value in REPORTED_VALUES)
    for pool in (pool for pool in ThreatPool if pool not in (ThreatPool.ALL, ThreatPool.NONE)):
        assert all(f"| {threat.name} | {threat.promise} |" in promised for threat in threats_of(pool))
    for hazard in hazards_of(Rig(load_bicycle("Benchmark"))):
        assert all(f"| {row.number} | {row.cause} |" in dangers for row in hazard.rows)
