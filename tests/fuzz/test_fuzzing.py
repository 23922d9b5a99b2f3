"""Nasty inputs are read or refused in one line, and ten seconds of others."""

import pytest

from fuzz.fuzzing import TARGETS, fuzz, replay


@pytest.mark.parametrize("target", TARGETS)
def test_nasty_inputs_are_read_or_refused_in_one_line(target):
    replay(target)


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_ten_seconds_of_mutations_find_nothing(target):
    fuzz(target, 10)
