"""How a command may end that was given a hostile file."""

LONGEST = 700  # characters of a sentence


def ended_well(code, out, err, what):
    """Check that a command read a file, or refused it in one sentence; the sentence, or nothing."""
    assert "Traceback" not in out + err, what
    assert code in (0, 1, 2), what
    said = [line for line in err.splitlines() if line.startswith("riderless: ")]
    if code != 2:
        return ""
    assert len(said) == 1, f"{what}: {err}"
    assert len(said[0]) <= LONGEST, f"{what}: {len(said[0])} characters"
    return said[0]
