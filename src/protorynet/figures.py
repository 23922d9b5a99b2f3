"""How right predictions are: the figures of labelled documents, by one name in every view."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protorynet.labels import LabelCode

_RELIABILITY_BINS = 10
# A class is rarely found whose recall is below so much of the accuracy, of so many documents.
_RARELY, _ENOUGH = 0.5, 3
_HARDLY_ANY = 5  # documents of a class, from which on its recall tells something
_FAR_ABOVE_CHANCE = 0.2  # mean recall of a model that tells classes apart
_MOST_NAMED = 6
_MOST_COUNTED = 2**53
_SHOWN = (
    "accuracy accuracy_interval majority_baseline bag_of_words_accuracy balanced_accuracy macro_f1 "
    "calibration_error n_documents confusion warnings"
)
_FOR_RARE_CLASSES = "Give more documents of such, or let them count more (--class-weight balanced)."
_FOR_OTHER_CLASSES = "Give more documents of such; the confusions tell what they are taken for."
_FOR_ONE_LARGE_CLASS = "Yet it tells the classes apart: judge it by recall and precision."
_FOR_MORE_ACCURACY = "Try --encoder gte-small, --encoder-training full (GPU), or more documents."


@dataclass(frozen=True)
class ClassFigures:
    """How many documents have a class, how many are given it, and how many both."""

    name: str
    n_true: int
    n_predicted: int
    n_both: int

    @property
    def recall(self) -> float | None:
        """Share of the documents of the class that are given it; None where there are none."""
        return self.n_both / self.n_true if self.n_true else None

    @property
    def precision(self) -> float | None:
        """Share of the documents given the class that have it; None where there are none."""
        return self.n_both / self.n_predicted if self.n_predicted else None

    @property
    def f1(self) -> float | None:
        """Harmonic mean of recall and precision; None where no document has or is given it."""
        total = self.n_true + self.n_predicted
        return 2 * self.n_both / total if total else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        rates = {"recall": self.recall, "precision": self.precision, "f1": self.f1}
        return {**asdict(self), **rates}


@dataclass(frozen=True)
class ReliabilityBin:
    """Predictions of probabilities from `low` to below `high`, `said` on average; never none."""

    low: float
    high: float
    count: int
    said: float
    n_true: int

    @property
    def observed(self) -> float:
        """Share of the predictions that came true."""
        return self.n_true / self.count

    @property
    def interval(self) -> tuple[float, float]:
        """The observed share with its uncertainty: a 95% Wilson interval."""
        return wilson_interval(self.n_true, self.count)


@dataclass(frozen=True)
class Figures:
    """How right predictions are on labelled documents; counts, from which all else follows.

    There is no `confusion` (documents by true and predicted class) where a document may have
    several classes. The reliability bins are those of the probability of the last of two classes,
    of the predicted one of several, or of each where documents may have several.
    """

    n_documents: int
    n_right: int
    classes: tuple[ClassFigures, ...]
    confusion: tuple[tuple[int, ...], ...] | None
    reliability: tuple[ReliabilityBin, ...]
    bag_of_words_accuracy: float | None = None  # of a floor on the same documents, if measured

    @property
    def accuracy(self) -> float:
        """Share of the documents all of whose classes are predicted correctly."""
        return self.n_right / self.n_documents

    @property
    def accuracy_interval(self) -> tuple[float, float]:
        """The 95% Wilson interval of the accuracy."""
        return wilson_interval(self.n_right, self.n_documents)

    @property
    def most_frequent(self) -> ClassFigures:
        """The class of most documents."""
        return max(self.classes, key=lambda each: each.n_true)

    @property
    def majority_baseline(self) -> float | None:
        """Accuracy of always naming the most frequent class, where documents have one."""
        return None if self.confusion is None else self.most_frequent.n_true / self.n_documents

    @property
    def balanced_accuracy(self) -> float:
        """Mean recall of the classes that some document has."""
        recalls = [each.recall for each in self.classes if each.recall is not None]
        return float(np.mean(recalls)) if recalls else 0.0

    @property
    def macro_f1(self) -> float:
        """Mean F1 of the classes that some document has or is given; of labels, of all."""
        every = self.confusion is None
        return float(
            np.mean([each.f1 or 0 for each in self.classes if every or each.f1 is not None])
        )

    @property
    def calibration_error(self) -> float:
        """Expected calibration error: how far what is said is from what comes true."""
        total = sum(each.count for each in self.reliability)
        apart = (each.count * abs(each.said - each.observed) for each in self.reliability)
        return sum(apart) / total

    @property
    def confusions(self) -> list[tuple[str, str, int]]:
        """The confusions, the most frequent first: true class, predicted class, how often."""
        names = [each.name for each in self.classes]
        found = [
            (names[truth], names[answer], count)
            for truth, counts in enumerate(self.confusion or ())
            for answer, count in enumerate(counts)
            if count and truth != answer
        ]
        return sorted(found, key=lambda each: -each[2])

    @property
    def never_predicted(self) -> list[ClassFigures]:
        """The classes that documents have and none is given."""
        return [each for each in self.classes if each.n_true and not each.n_predicted]

    @property
    def rarely_found(self) -> list[ClassFigures]:
        """The classes of low recall, compared with the accuracy, the lowest first."""
        known = [each for each in self.classes if each.n_true >= _ENOUGH and each.n_predicted]
        low = [each for each in known if (each.recall or 0) < _RARELY * self.accuracy]
        return sorted(low, key=lambda each: each.recall or 0)

    @property
    def warnings(self) -> list[str]:
        """What accuracy hides: classes missed or hardly measured, a floor that is not passed."""
        missed = [*self.never_predicted, *self.rarely_found]
        kinds = {"Never predicted": self.never_predicted, "Rarely found": self.rarely_found}
        found = [f"{kind}: {list_classes(own)}." for kind, own in kinds.items() if own]
        if found:
            found[-1] += f" {self.remedy_for(missed)}"
        few = [each for each in self.classes if 0 < each.n_true < _HARDLY_ANY]
        if few := [each for each in few if each not in missed]:
            found.append(f"Too few to judge by: {list_classes(few)}. Test on more of such.")
        name, baseline = self.most_frequent.name, self.majority_baseline
        if baseline is not None and self.accuracy <= baseline:
            seen = f" {_FOR_ONE_LARGE_CLASS}" if self.tells_classes_apart else ""
            found.append(f'No better than always answering "{name}" ({baseline:.1%}).{seen}')
        if (floor := self.bag_of_words_accuracy or 0) > self.accuracy:
            found.append(f"A bag of words is better ({floor:.1%}). {_FOR_MORE_ACCURACY}")
        return found

    @property
    def tells_classes_apart(self) -> bool:
        """Whether classes are found far more often than by the same answer throughout."""
        there = sum(each.n_true > 0 for each in self.classes)
        return there > 1 and self.balanced_accuracy >= 1 / there + _FAR_ABOVE_CHANCE

    def remedy_for(self, classes: Sequence[ClassFigures]) -> str:
        """Return what helps where these classes are not found."""
        even = self.n_documents / len(self.classes)
        is_rare = any(each.n_true < even / 2 for each in classes)
        return _FOR_RARE_CLASSES if is_rare else _FOR_OTHER_CLASSES

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as `protorynet evaluate --json` prints them."""
        values = {name: getattr(self, name) for name in _SHOWN.split()}
        values["classes"] = [each.to_dict() for each in self.classes]
        return values | {"reliability": [asdict(each) for each in self.reliability]}

    def check(self, names: Sequence[str]) -> None:
        """Refuse figures that are not of these classes."""
        square = () if self.confusion is None else (len(names),) * 2
        known = tuple(each.name for each in self.classes) == tuple(names)
        counts = [(self.n_right, self.n_documents)]
        counts += [(each.n_both, min(each.n_true, each.n_predicted)) for each in self.classes]
        counts += [(max(each.n_true, each.n_predicted), self.n_documents) for each in self.classes]
        counts += [(each.n_true, each.count) for each in self.reliability]
        known = known and min((each.count for each in self.reliability), default=0) > 0
        known = known and all(0 <= part <= whole <= _MOST_COUNTED for part, whole in counts)
        if not known or np.shape(self.confusion or 0) != square or self.n_documents < 1:
            raise ValueError("the figures of the held-out documents are not of these classes")


def measure_figures(
    labels: LabelCode,
    targets: NDArray[np.float32],
    probabilities: NDArray[np.float32],
    bag_of_words: float | None = None,
) -> Figures:
    """Compare predictions with the truth, both (documents, C)."""
    truth, predicted = targets > 0.5, labels.decide(probabilities)
    counts = (each.sum(axis=0).tolist() for each in (truth, predicted, truth & predicted))
    said, came_true, confusion = probabilities.astype(np.float64), truth, None
    if labels.task == "multiclass":
        confusion = tuple(map(tuple, (truth.T.astype(np.int64) @ predicted).tolist()))
        # What calibration is about: the last of two classes, or the leading one of several.
        column = 1 if said.shape[1] == 2 else said.argmax(axis=1)
        each = np.arange(len(said))
        said, came_true = said[each, column], truth[each, column]
    return Figures(
        n_documents=len(truth),
        n_right=int((truth == predicted).all(axis=1).sum()),
        classes=tuple(ClassFigures(*each) for each in zip(labels.names, *counts, strict=True)),
        confusion=confusion,
        reliability=reliability_bins(said.ravel(), came_true.ravel()),
        bag_of_words_accuracy=bag_of_words,
    )


def reliability_bins(
    said: NDArray[np.float64], came_true: NDArray[np.bool_]
) -> tuple[ReliabilityBin, ...]:
    """Group predictions by their probability into bins of equal width; empty ones are left out."""
    edges = np.arange(_RELIABILITY_BINS + 1) / _RELIABILITY_BINS
    bins = np.minimum(np.searchsorted(edges, said, side="right"), _RELIABILITY_BINS) - 1
    counts, sums, true = (
        np.bincount(bins, each, _RELIABILITY_BINS) for each in (None, said, came_true)
    )
    columns = edges[:-1], edges[1:], counts, sums / np.maximum(counts, 1), true.astype(int)
    chosen = np.flatnonzero(counts)
    return tuple(
        ReliabilityBin(*each) for each in zip(*(c[chosen].tolist() for c in columns), strict=True)
    )


def wilson_interval(count: int, total: int) -> tuple[float, float]:
    """Return the 95% Wilson interval of a share."""
    from scipy.stats import binomtest

    ends = binomtest(count, total).proportion_ci(0.95, method="wilson")
    return float(ends.low), float(ends.high)


def list_classes(classes: Sequence[ClassFigures]) -> str:
    """Return the names of classes with how often each was found; of many the first."""
    named = [f'"{each.name}" ({each.n_both:,} of {each.n_true:,})' for each in classes]
    more = len(named) - _MOST_NAMED
    return ", ".join(named[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
