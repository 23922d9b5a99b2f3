"""Nasty inputs and mutations of them are read or refused in one line, and ten seconds of others."""

import pytest

from fuzz.fuzzing import TARGETS, fuzz, seeds


@pytest.mark.parametrize("target", TARGETS)
def test_nasty_inputs_are_read_or_refused_in_one_line(target):
    assert fuzz(target, 0, least=100) == len(seeds(target)) + 100


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_ten_seconds_of_mutations_find_nothing(target):
    count = fuzz(target, 10)
    print(f"\n{target}: {count:,} inputs")
    assert count > len(seeds(target))
