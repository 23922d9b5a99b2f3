"""Findings about what the model predicts: doubtful labels, missing classes, order, certainty."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from protorynet.audit.corpus import AuditCorpus
from protorynet.audit.findings import Finding, Severity, counted, quoted, share_of
from protorynet.explain import leave_one_out_effects

__all__ = ["prediction_findings"]

_SURE = 0.95
_THROUGHOUT = 0.8
_SHOWN_SUSPECTS = 20
_MANY_SUSPECTS = 0.05
_ENOUGH_OF_A_CLASS = 5
_ENOUGH_DOCUMENTS = 30
_UNMOVED = 0.01
_GAP = 0.05


def prediction_findings(corpus: AuditCorpus, seed: int = 0) -> list[Finding]:
    """Look at the predictions for both splits."""
    return [
        *_label_suspects(corpus),
        *_classes_in_test(corpus),
        *_order_not_used(corpus, seed),
        *_misplaced_certainty(corpus),
    ]


def _label_suspects(corpus: AuditCorpus) -> list[Finding]:
    """Look for documents that the model is sure about, from early on, against their label."""
    probabilities, truth = corpus.reading.probabilities, corpus.truth
    against = np.abs(truth - probabilities)
    label = against.argmax(axis=1)
    rows = np.arange(len(label))
    running = corpus.reading.running[np.arange(len(corpus.documents)), label[corpus.documents]]
    otherwise = np.abs(truth[rows, label][corpus.documents] - running) > 0.5
    throughout = np.bincount(corpus.documents, weights=otherwise) / corpus.reading.lengths
    suspects = np.flatnonzero(
        (against[rows, label] >= _SURE) & (throughout >= _THROUGHOUT) & ~corpus.right
    )
    if not len(suspects):
        return []
    suspects = suspects[np.argsort(-against[suspects, label[suspects]], kind="stable")]
    count, whole = len(suspects), len(corpus.texts)
    many = count / whole >= _MANY_SUSPECTS
    doubt = "So many make the model suspect rather than the labels. " if many else ""
    message = (
        f"{counted(count, 'document')} ({share_of(count, whole)}) may have a wrong label: sentence "
        f"after sentence the model says otherwise, and is at least {share_of(_SURE, 1)} sure in "
        f"the end. {doubt}Read the listed ones, and mend the labels that are wrong; where the "
        "label is right, the sentence named shows what misled the model."
    )
    evidence = {
        "n_documents": count,
        "n_test_documents": int(corpus.is_test[suspects].sum()),
        "examples": _suspects(corpus, np.sort(suspects[:_SHOWN_SUSPECTS]), label),
    }
    severity: Severity = "warning" if many else "note"
    return [Finding("label_suspects", severity, message, evidence)]


def _suspects(
    corpus: AuditCorpus, documents: NDArray[np.int64], disputed: NDArray[np.int64]
) -> list[dict[str, Any]]:
    """Name the sentence of each document that speaks most against its label.

    Parameters
    ----------
    corpus
        All documents.
    documents
        Those to look at.
    disputed
        Of every document, the class that model and label disagree most on. Where one class holds,
        it is rather the one that is given.
    """
    chosen = np.zeros(len(corpus.texts), np.bool_)
    chosen[documents] = True
    part = corpus.reading.part(chosen)
    said = part.probabilities
    given = said.argmax(axis=1)
    several = corpus.model.labels.task == "multilabel"
    places = (np.arange(len(documents)), disputed[documents] if several else given)
    effects = leave_one_out_effects(corpus.model, part, places[1])
    is_denied = corpus.truth[documents, places[1]] > 0
    effects = np.where(np.repeat(is_denied, part.lengths), -effects, effects)
    certainties = np.where(is_denied, 1 - said[places], said[places])
    found = []
    for place, document in enumerate(documents.tolist()):
        start, end = part.offsets[place], part.offsets[place + 1]
        step = int(effects[start:end].argmax())
        column = int(part.columns[start + step])
        sentence = corpus.reading.offsets[document] + step
        row = said[place]
        found.append(
            {
                **corpus.example(document),
                "label": corpus.label(document),
                "predicted": corpus.model.labels.name_of(row),
                "probability": float(certainties[place]),
                "sentence": quoted(corpus.sentences[sentence]),
                "effect": float(effects[start + step]),
                "prototype": corpus.model.prototypes[column].id,
            }
        )
    return sorted(found, key=lambda suspect: -suspect["probability"])


def _classes_in_test(corpus: AuditCorpus) -> list[Finding]:
    """Look for classes that the test data or the predictions for it lack."""
    there = corpus.truth[corpus.is_test].sum(axis=0)
    given = corpus.predicted[corpus.is_test].sum(axis=0)
    names = corpus.model.labels.names
    findings = []
    for name, count, times in zip(names, there.tolist(), given.tolist(), strict=True):
        if not count:
            message = (
                f'No test document has the class "{quoted(name, 40)}", so nothing is known of how '
                "well the model finds it. Add documents of it to the test data."
            )
            findings.append(Finding("class_not_in_test", "warning", message, {"class": name}))
        elif not times:
            message = (
                f'The class "{quoted(name, 40)}" is never predicted, though '
                f"{counted(count, 'test document')} {'have' if count > 1 else 'has'} it. The "
                "model is of no use for it: train with more documents of it, or leave it out."
            )
            severity: Severity = "serious" if count >= _ENOUGH_OF_A_CLASS else "warning"
            evidence = {"class": name, "n_test_documents": count}
            findings.append(Finding("class_never_predicted", severity, message, evidence))
    return findings


def _order_not_used(corpus: AuditCorpus, seed: int) -> list[Finding]:
    """Read the test documents shuffled; only those count whose order can be told."""
    columns, offsets = corpus.reading.columns, corpus.reading.offsets[:-1]
    varied = np.maximum.reduceat(columns, offsets) != np.minimum.reduceat(columns, offsets)
    chosen = varied & corpus.is_test
    count = int(chosen.sum())
    if count < _ENOUGH_DOCUMENTS:
        return []
    part = corpus.reading.part(chosen)
    random = np.random.default_rng(seed)
    document = np.repeat(np.arange(count), part.lengths)
    order = np.lexsort((random.random(len(document)), document))
    read = corpus.model.read(part.take(order, part.lengths))
    shuffled = corpus.model.labels.decide(read.probabilities)
    changed = int((shuffled != corpus.predicted[chosen]).any(axis=1).sum())
    if changed / count >= _UNMOVED:
        return []
    message = (
        f"The order of the sentences is not used: shuffling them changes {changed:,} of "
        f"{counted(count, 'test prediction')}. Read a trajectory as a list of reasons; that one "
        "comes before another means nothing to this model."
    )
    right = (shuffled == corpus.truth[chosen]).all(axis=1)
    evidence = {
        "n_documents": count,
        "n_changed": changed,
        "accuracy": float(corpus.right[chosen].mean()),
        "shuffled_accuracy": float(right.mean()),
    }
    return [Finding("order_not_used", "note", message, evidence)]


def _misplaced_certainty(corpus: AuditCorpus) -> list[Finding]:
    """Compare how sure the model is of its test predictions with how often it is right."""
    probabilities = corpus.reading.probabilities[corpus.is_test].astype(np.float64)
    truth, predicted = corpus.truth[corpus.is_test], corpus.predicted[corpus.is_test]
    count = len(truth)
    if count < _ENOUGH_DOCUMENTS:
        return []
    if corpus.model.labels.task == "multilabel":
        sure = float(np.maximum(probabilities, 1 - probabilities).mean())
        right = float((truth == predicted).mean())
    else:
        sure, right = (
            float(probabilities.max(axis=1).mean()),
            float(corpus.right[corpus.is_test].mean()),
        )
    gap = sure - right
    if abs(gap) < max(_GAP, 3 * np.sqrt(max(right * (1 - right), 1e-4) / count)):
        return []
    how = "too sure of itself" if gap > 0 else "surer than it says"
    advice = (
        "Do not read its percentages as chances"
        if gap > 0
        else "Its percentages are lower than the chances"
    )
    message = (
        f"The model is {how}: it gives its test predictions {share_of(sure, 1)} on average, and "
        f"{share_of(right, 1)} of them are right. {advice}; choose thresholds on labelled data."
    )
    evidence = {"mean_certainty": sure, "share_right": right, "n_documents": count}
    return [Finding("misplaced_certainty", "warning", message, evidence)]
