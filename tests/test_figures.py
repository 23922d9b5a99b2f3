"""The figures beside the accuracy, and what is said when it hides something."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from protorynet.figures import Figures, measure_figures
from protorynet.labels import LabelCode
from protorynet.records import read_record

LABELS = LabelCode(("rare", "usual"), "multiclass")


def measure(rare: list[float], truth: list[int]) -> Figures:
    """Return the figures of documents, given their probability and truth of the first class."""
    said, true = np.array(rare, np.float32), np.array(truth, np.float32)
    return measure_figures(LABELS, np.stack([true, 1 - true], 1), np.stack([said, 1 - said], 1))


def test_a_class_of_two_percent_that_is_never_predicted_is_told():
    figures = measure([0.1] * 100, [1, 1] + [0] * 98)
    assert (figures.accuracy, figures.majority_baseline) == (0.98, 0.98)
    assert figures.balanced_accuracy == 0.5
    never, no_better = figures.warnings
    assert never.startswith('Never predicted: "rare" (0 of 2).')
    assert "--class-weight balanced" in never
    assert no_better == 'No better than always answering "usual" (98.0%).'


def test_a_model_that_finds_a_rare_class_is_not_called_useless_by_its_accuracy():
    figures = measure([0.9] * 7 + [0.1] * 93, [1, 1, 0, 0, 0] + [0] * 95)
    assert figures.accuracy < figures.majority_baseline == 0.98
    too_few, told = figures.warnings
    assert too_few == 'Too few to judge by: "rare" (2 of 2). Test on more of such.'
    assert told.startswith('No better than always answering "usual" (98.0%).')
    assert "judge it by recall and precision" in told


def test_a_class_that_is_found_now_and_then_is_told_and_one_that_is_found_is_not():
    truth = [1] * 10 + [0] * 90
    seldom = measure([0.9] * 3 + [0.1] * 97, truth)
    assert seldom.warnings[0].startswith('Rarely found: "rare" (3 of 10).')
    assert measure([0.9] * 8 + [0.1] * 92, truth).warnings == []


def test_weights_are_advised_for_rare_classes_only():
    missed = measure([0.9] * 10 + [0.1] * 90, [1] * 50 + [0] * 50)
    assert missed.warnings[0].startswith('Rarely found: "rare" (10 of 50).')
    assert "--class-weight" not in missed.warnings[0]


def test_a_floor_that_is_not_passed_is_told():
    figures = measure([0.9] * 50 + [0.1] * 50, [1] * 45 + [0] * 55)
    assert replace(figures, bag_of_words_accuracy=0.95).warnings == []
    (warning,) = replace(figures, bag_of_words_accuracy=0.96).warnings
    assert "bag of words is better (96.0%)" in warning


def test_figures_are_read_back_from_json_and_refused_where_they_do_not_fit():
    figures = measure([0.9, 0.2, 0.6, 0.1], [1, 1, 0, 0])
    read = read_record(Figures, json.loads(json.dumps(asdict(figures))))
    assert read == figures
    read.check(LABELS.names)
    for change in ({"n_documents": 0}, {"confusion": ((1, 2),)}, {"classes": figures.classes[:1]}):
        with pytest.raises(ValueError, match="not of these classes"):
            replace(figures, **change).check(LABELS.names)
