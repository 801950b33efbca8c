"""A dozen mutants of every kind of file that is read; `make fuzz` reads 100 000 of each."""

from random import Random

import pytest

from tests.tools.fuzz_files.__main__ import fuzz_reader
from tests.tools.fuzz_files.logs import CHUNK, METADATA, mutated_record
from tests.tools.fuzz_files.readers import READERS
from tests.tools.fuzz_files.seeds import TOPIC_FILES, log_parts
from tests.tools.fuzz_files.worker import MOST_MEMORY, mutant

SEED, MUTANTS, MORE_MUTANTS, MOST_MUTANTS = 2026, 12, 600, 2000
WITH_LIBRARIES = {*(f"{name}{suffix}" for name, suffix in TOPIC_FILES.items()), "bag"}  # of others, as they are
MF4 = "mf4.mf4"
NO_MF4 = pytest.mark.skipif(MF4 not in READERS, reason="needs riderless[mf4], 200 MB that `make test` does without")


@pytest.mark.parametrize("more", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("reader", [*(one for one in READERS if one != MF4), pytest.param(MF4, marks=NO_MF4)])
def test_a_mutant_is_read_or_refused_in_a_sentence(reader, more, tmp_path):
    mutants = MUTANTS if not more else MOST_MUTANTS if reader in WITH_LIBRARIES else MORE_MUTANTS
    counts, found = fuzz_reader(reader, mutants, SEED, 1, tmp_path / "kept")
    assert counts["mutants"] == mutants
    assert [f"{one.place}: {one.words} ({one.number})" for one in found] == []
    assert counts["read"] + counts["refused"] == mutants
    if more:
        assert counts["read"] >= 0.02 * mutants, "mutants that all readers refuse at the door test little"


@pytest.mark.parametrize("reader", READERS)
def test_a_mutant_is_the_same_again_from_its_seed_and_number(reader):
    assert mutant(SEED, reader, 7) == mutant(SEED, reader, 7)
    assert len({mutant(SEED, reader, number) for number in range(20)}) > 10
    assert mutant(SEED, reader, 7) != mutant(SEED + 1, reader, 7)


def _breaks(kind):
    def step():
        if kind == "exception":
            raise KeyError("what no person understands")
        if kind == "memory":
            _kept.append(bytearray(MOST_MEMORY + 100_000_000))
        if kind == "slow":
            while True:
                pass
        if kind == "silent":
            from riderless.models.errors import InputError

            raise InputError("")
        if kind == "dead":
            import os
            import signal

            os.kill(os.getpid(), signal.SIGSEGV)

    return step


_kept: list[bytearray] = []


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("exception", "KeyError at"),
        ("memory", "memory"),
        ("slow", "slow: "),
        ("silent", "no words: InputError"),
        ("dead", "worker ended by signal 11"),
    ],
)
def test_what_goes_wrong_is_found_and_kept(kind, told, tmp_path, monkeypatch):
    from tests.tools.fuzz_files import worker

    if kind == "slow":
        monkeypatch.setattr(worker, "MOST_SECONDS", 0.2)
    hidden = READERS["notes"]._replace(steps=lambda path, rng: [_breaks(kind)])
    monkeypatch.setitem(READERS, "notes", hidden)
    counts, found = fuzz_reader("notes", 2, SEED, 1, tmp_path)
    assert counts["mutants"] == 2
    assert len(found) == 2
    assert all(one.place.startswith(told) for one in found)
    assert (tmp_path / f"notes-{SEED}-{found[0].number}.txt").read_bytes() == mutant(SEED, "notes", found[0].number)


@pytest.mark.parametrize("times", [2, 5])
def test_a_record_of_a_log_that_is_broken_already_is_changed_again(times):
    rng = Random(SEED)
    records = [(opcode, body) for opcode, body in log_parts()[0].records if opcode in (CHUNK, METADATA)]
    assert {opcode for opcode, _ in records} == {CHUNK, METADATA}
    for _ in range(100):
        for opcode, body in records:
            for _ in range(times):
                body = mutated_record(rng, opcode, body)
            assert type(body) in (bytes, list)
