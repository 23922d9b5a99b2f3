"""Labels as users write them, and as the network needs them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from protorynet.errors import InputError, list_names

Task = Literal["multiclass", "multilabel"]
"""One class of two or more (softmax), or any number of classes at once (sigmoid)."""

Scalar = str | int | float | bool
_SETS = (tuple, list, set, frozenset, np.ndarray)


@dataclass(frozen=True)
class LabelCode:
    """The classes, in the order of the network's outputs as plain values, and the kind of task.

    `called` are the names that a user gave them, if any; labels are known by either.
    """

    classes: tuple[Scalar, ...]
    task: Task
    called: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in self.names:
            try:
                name.encode()
            except UnicodeEncodeError:  # of which no file could be written after training
                raise InputError(
                    f"the class {name[:80]!a} holds half a Unicode character; write it again."
                ) from None

    @property
    def names(self) -> tuple[str, ...]:
        """The classes as people read them."""
        return self.called or tuple(str(label) for label in self.classes)

    @property
    def written(self) -> tuple[Scalar, ...]:
        """The classes as tables of predictions hold them."""
        return self.called or self.classes

    def with_names(self, names: Mapping[Any, str] | None) -> "LabelCode":
        """Return the same classes under other names; one without keeps its own.

        Examples
        --------
        >>> LabelCode((0, 1, 2), "multiclass").with_names({0: "bad", 2: "good"}).names
        ('bad', '1', 'good')
        """
        given = {str(label): name for label, name in (names or {}).items()}
        if unknown := [label for label in given if label not in self.names]:
            raise InputError(
                f"there is no class {unknown[0]!r} to give a name; the classes are "
                f"{list_names(self.names, 10)}."
            )
        called = tuple(given.get(own, own) for own in self.names)
        taken = [name for own, name in given.items() if name != own and name in self.names]
        if taken or len(set(called)) < len(called) or not all(called):
            raise InputError(
                f"the names {list_names(called, 10)} of the classes should be "
                "different, not empty, and none of them the label of another class."
            )
        return replace(self, called=called) if given else self

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, which `read_labels` takes."""
        named = {"names": list(self.called)} if self.called else {}
        return {"classes": list(self.classes), "task": self.task, **named}

    def find(self, label: Any) -> int | None:
        """Return the position of a class, by its label or its name."""
        # Whether a file says 1 or "1" depends on its format, and on its other labels.
        return self._positions.get(label, self._positions.get(str(label)))

    def encode(self, labels: Any) -> NDArray[np.float32]:
        """Return one-hot or multi-hot vectors; a label that is no class is refused by name."""
        if self.task == "multiclass":
            return self._mark([[_plain(label)] for label in labels])
        matrix = _matrix(labels)
        if matrix is None:
            return self._mark([_plain_set(chosen) for chosen in labels])
        if matrix.shape[1] != len(self.classes):
            raise InputError(
                f"the label matrix has {matrix.shape[1]} columns, but the model has "
                f"{len(self.classes)} classes."
            )
        return matrix

    def decide(self, probabilities: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Say for each document which classes it is given: the most probable, or all from .5 on."""
        if self.task == "multilabel":
            return np.asarray(probabilities >= 0.5)
        chosen = np.zeros(probabilities.shape, np.bool_)
        chosen[np.arange(len(chosen)), probabilities.argmax(axis=1)] = True
        return chosen

    def share_equal(self, ones: NDArray[np.float32], others: NDArray[np.float32]) -> float:
        """Return the share of documents that two matrices decide alike; one may hold the truth."""
        return float((self.decide(ones) == self.decide(others)).all(axis=1).mean())

    def decode(self, probabilities: NDArray[np.float32]) -> NDArray[Any]:
        """Return the predicted class of each document, or a 0/1 matrix for a multi-label task."""
        decided = self.decide(probabilities)
        if self.task == "multilabel":
            return decided.astype(np.int64)
        predicted: NDArray[Any] = self.array()[decided.argmax(axis=1)]
        return predicted

    def array(self) -> NDArray[Any]:
        """Return the classes as scikit-learn's `classes_`."""
        return np.array(self.classes)

    def name_of(self, probabilities: NDArray[np.float32]) -> str:
        """Return the prediction of one document in words; ``(none)`` where no class is given."""
        given = np.array(self.names)[self.decide(probabilities[None])[0]]
        return ", ".join(given) or "(none)"

    def _mark(self, given: list[list[Scalar]]) -> NDArray[np.float32]:
        """Return a vector for each document with 1 for its labels."""
        targets = np.zeros((len(given), len(self.classes)), np.float32)
        unseen = set()
        for document, labels in enumerate(given):
            for label in labels:
                position = self.find(label)
                if position is None:
                    unseen.add(str(label))
                else:
                    targets[document, position] = 1
        if unseen:
            raise InputError(
                f"label(s) {list_names(sorted(unseen), 5)} were not seen in training; the classes "
                f"are {list_names(self.names, 10)}."
            )
        return targets

    @cached_property
    def _positions(self) -> dict[Scalar, int]:
        known = (self.called, tuple(map(str, self.classes)), self.classes)
        return {label: position for each in known for position, label in enumerate(each)}


def read_labels(values: Mapping[str, Any]) -> LabelCode:
    """Return the classes that a model's file names; what cannot be classes is a `ValueError`."""
    classes, task, called = values["classes"], values["task"], values.get("names", [])
    if task not in ("multiclass", "multilabel") or not isinstance(classes, list):
        raise ValueError(f"task {task!r} with classes {classes!r}")
    kinds = {str if isinstance(label, str) else float for label in classes}
    plain = all(isinstance(label, str | int | float) for label in classes)
    labels = LabelCode(tuple(classes), task)
    if not plain or len(kinds) != 1 or len(set(labels.names)) < len(classes):
        raise ValueError(f"classes {classes!r} should be different texts or numbers")
    if not isinstance(called, list) or not all(isinstance(name, str) for name in called):
        raise ValueError(f"the names {called!r} of the classes should be texts")
    return labels.with_names(dict(zip(classes, called, strict=True)) if called else None)


def check_labels(labels: Any, n_documents: int) -> None:
    """Refuse what is not one label per document."""
    if labels is None:
        raise InputError("labels are missing: pass y, one label per document.")
    if not hasattr(labels, "__len__") or isinstance(labels, str):
        raise InputError(f"expected a sequence of labels, but got {type(labels).__name__}.")
    if len(labels) != n_documents:
        raise InputError(f"{n_documents} documents but {len(labels)} labels.")


def learn_labels(labels: Any) -> LabelCode:
    """Find the classes and the kind of task.

    There is one label per document (strings, whole numbers, booleans …); or, for several classes
    at once, a 0/1 matrix or a sequence of tuples of names.
    """
    matrix = _matrix(labels)
    if matrix is not None:
        named = tuple(_plain(name) for name in getattr(labels, "columns", range(matrix.shape[1])))
        if len({str(name) for name in named}) < len(named):
            raise InputError(f"the label columns {', '.join(map(repr, named))} share a name.")
        return LabelCode(named, "multilabel")
    if len(labels) and all(isinstance(entry, _SETS) for entry in labels):
        together = {name for entry in labels for name in _plain_set(entry)}
        if not together:
            raise InputError("no document has any label.")
        return LabelCode(_sorted(together), "multilabel")
    classes = _sorted({_plain(label) for label in labels})
    if len(classes) < 2:
        shown = repr(classes[0]) if classes else "none"
        raise InputError(
            f"the {len(labels)} documents have only one class ({shown}); "
            "a classifier needs at least two."
        )
    if len(classes) > max(50, len(labels) // 2):
        raise InputError(
            f"{len(classes)} distinct labels for {len(labels)} documents look like values, not "
            "classes. Choose a column of classes with label=… (--label COLUMN)."
        )
    return LabelCode(classes, "multiclass")


def _sorted(distinct: set[Scalar]) -> tuple[Scalar, ...]:
    if len({isinstance(label, str) for label in distinct}) > 1:
        raise InputError("the labels mix text and numbers; make them all of one kind.")
    ordered: list[Any] = list(distinct)
    return tuple(sorted(ordered))


def _matrix(labels: Any) -> NDArray[np.float32] | None:
    """Return a 0/1 matrix as floats, or None where the labels are no matrix."""
    if isinstance(labels, list | tuple) and not all(
        isinstance(each, list | tuple) and each and not isinstance(each[0], str) for each in labels
    ):
        return None
    try:
        array = np.asarray(labels)
    except ValueError:
        return None
    if array.ndim != 2:
        return None
    if array.shape[1] == 1:
        raise InputError("the labels have shape (n, 1); give a flat sequence of n labels.")
    if not np.isin(array, [0, 1]).all():
        raise InputError("a label matrix may hold only 0 and 1.")
    return array.astype(np.float32)


def _plain_set(labels: Any) -> list[Scalar]:
    if not isinstance(labels, _SETS):
        raise InputError(f"expected a tuple of labels for each document, but got {labels!r}.")
    return [_plain(label) for label in labels]


def _plain(label: Any) -> Scalar:
    value = label.item() if isinstance(label, np.generic) else label
    if isinstance(value, str | int) or (isinstance(value, float) and np.isfinite(value)):
        return value
    raise InputError(
        f"the label {value!r} is not a text, a number or true/false. Remove or mend its document."
    )
