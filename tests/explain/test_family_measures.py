"""Whether families hold together and their scores are true, against slow and obvious versions."""

import numpy as np
import pytest

from protorynet.explain.likeness import measure_coherence


@pytest.mark.parametrize(("own", "other", "expected"), [(1, 0, 1.0), (0, 1, 0.0), (1, 1, 0.0)])
def test_a_judge_finds_members_of_one_prototype_nearer_or_not(clf, own, other, expected):
    family = {member.sentence: item.id for item in clf.prototypes_ for member in item.members}

    def judge(some: list[str], others: list[str]) -> np.ndarray:
        same = [[family[one] == family[two] for two in others] for one in some]
        return np.where(same, own, other).astype(np.float32)

    assert measure_coherence(clf.model_, judge, seed=0) == expected


def test_coherence_is_the_share_of_triples_by_use(clf):
    members = clf.prototypes_.members
    family = np.repeat(np.arange(len(clf.prototypes_)), clf.prototypes_.sizes)
    use = np.array([member.usage for member in members])
    likeness = np.random.default_rng(3).random((len(members), len(members)), np.float32)
    total = weight = 0.0
    for a in range(len(members)):
        own = [b for b in range(len(members)) if family[b] == family[a] and b != a]
        for b in own:
            for c in np.flatnonzero(family != family[a]).tolist():
                chance = use[a] * use[c] * use[b] / use[own].sum()
                total += chance * (likeness[a, b] > likeness[a, c])
                weight += chance
    found = measure_coherence(clf.model_, lambda some, others: likeness, seed=0)
    assert found == pytest.approx(total / weight, abs=0.05)


def test_score_error_is_the_mean_difference_of_score_and_class_rate_by_use(
    evaluation, clf, unseen_reviews
):
    differences = []
    truth = dict(zip(unseen_reviews.texts, unseen_reviews.labels, strict=True))
    seen: dict[int, list[bool]] = {}
    for text, explanation in zip(truth, clf.explain(list(truth)), strict=True):
        for step in explanation.sentences:
            seen.setdefault(step.prototype, []).append(truth[text] == "good")
    for item in clf.prototypes_:
        found = seen.get(item.id, [])
        differences += len(found) * [abs(np.mean(found or [0]) - item.scores["good"])]
    expected = float(np.mean(differences))
    assert len(truth) == len(unseen_reviews.texts)
    assert {m.name: m.value for m in evaluation.measures}["score_error"] == pytest.approx(expected)
