"""Reference of the fault campaigns: the promise for each fault, the causes that name it, and the reason."""

from riderless.experiments.fault_injection.summary_table import promises_markdown
from riderless.experiments.fault_injection.threats.fault_list import ThreatPool

HEAD = """# What is promised for each fault

[Faults on purpose](../faults.md) explains the promises. `riderless faults --threats NAME` puts them to the test.
"""


def page() -> str:
    """Write a table for each pool of faults."""
    pools = [pool for pool in ThreatPool if pool not in (ThreatPool.ALL, ThreatPool.NONE)]
    return "\n".join([HEAD, *(f"## {pool.value.capitalize()}\n\n{promises_markdown(pool)}\n" for pool in pools)])
