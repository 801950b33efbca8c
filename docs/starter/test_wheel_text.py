"""Rules that every driver keeps: "python test_wheel_text.py", or pytest."""

from pathlib import Path

import riderless as rl

DRIVER = Path(__file__).with_name("wheel_text.py")


def test_every_rule_holds():
    """At 100, 200, 500 and 1000 Hz."""
    result = rl.check_driver(DRIVER)
    assert result.passed, result


if __name__ == "__main__":
    print(rl.check_driver(DRIVER))
