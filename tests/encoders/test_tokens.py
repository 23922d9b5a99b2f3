"""Token ids of texts, one text after the other."""

import numpy as np
from hypothesis import given, strategies as st

from protorynet.encoders import Tokens

texts = st.lists(st.lists(st.integers(1, 99), max_size=7), max_size=12)


def as_lists(tokens: Tokens) -> list[list[int]]:
    return [ids.tolist() for ids in tokens]


@given(texts)
def test_tokens_are_the_lists_they_were_made_of(lists):
    tokens = Tokens.of(lists)
    assert as_lists(tokens) == lists == [tokens[at].tolist() for at in range(len(tokens))]


@given(texts.flatmap(lambda lists: st.tuples(st.just(lists), st.permutations(range(len(lists))))))
def test_some_texts_are_taken_in_the_order_asked_for(case):
    lists, order = case
    some = order[: len(order) // 2 + 1]
    taken = Tokens.of(lists).take(np.array(some, np.int64))
    assert as_lists(taken) == [lists[at] for at in some]


@given(texts)
def test_a_text_without_a_token_gets_one(lists):
    assert as_lists(Tokens.of(lists).filled(0)) == [each or [0] for each in lists]


@given(texts, st.integers(7, 30))
def test_runs_keep_order_hold_as_much_as_they_may_and_are_never_too_long(lists, most):
    runs = [as_lists(run) for run in Tokens.of(lists).runs(most)]
    assert [each for run in runs for each in run] == lists
    sizes = [sum(map(len, run)) for run in runs]
    assert max(sizes, default=0) <= most
    assert all(size + len(after[0]) > most for size, after in zip(sizes, runs[1:], strict=False))
