"""Findings about how the prototypes are used and scored."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from protorynet.audit.corpus import AuditCorpus
from protorynet.audit.findings import Finding, counted, quoted, share_of
from protorynet.audit.prototypes import class_rates, listed_ids, prototype_evidence

__all__ = ["usage_findings"]

_ONE_TAKES, _TWO_TAKE = 0.5, 0.75
_POOR_CALIBRATION, _MIN_CALIBRATED = 0.5, 5


def usage_findings(corpus: AuditCorpus) -> list[Finding]:
    """Look at how the prototypes are used and scored."""
    return [
        *_classes_without_prototype(corpus),
        *_few_prototypes(corpus),
        *_unused_prototypes(corpus),
        *_score_calibration(corpus),
    ]


def _classes_without_prototype(corpus: AuditCorpus) -> list[Finding]:
    scores = _scores(corpus)
    if corpus.model.labels.task == "multilabel":
        # A rare class may have no score above one half, yet prototypes that speak for it.
        spoken = (scores > 2 * corpus.truth.mean(axis=0)).any(axis=0) | (scores >= 0.5).any(axis=0)
    else:
        spoken = np.isin(np.arange(scores.shape[1]), scores.argmax(axis=1))
    names = [name for name, has in zip(corpus.model.labels.names, spoken, strict=True) if not has]
    if not names:
        return []
    listed = ", ".join(f'"{quoted(name, 40)}"' for name in names[:10])
    message = (
        f"No prototype speaks for {'the class' if len(names) == 1 else 'the classes'} {listed}, "
        "so a document of it cannot be explained by what it is like. Train with more prototypes "
        "(--prototypes, --max-prototypes), or with more documents of it."
    )
    return [Finding("class_without_prototype", "warning", message, {"classes": names})]


def _few_prototypes(corpus: AuditCorpus) -> list[Finding]:
    counts = np.bincount(corpus.reading.columns, minlength=len(corpus.model.prototypes))
    order = np.argsort(-counts, kind="stable")
    shares = counts[order] / counts.sum()
    if len(shares) < 3:
        return []
    if shares[0] >= _ONE_TAKES:
        first = order[:1].tolist()
    elif shares[:2].sum() >= _TWO_TAKE:
        first = order[:2].tolist()
    else:
        return []
    taken = float(shares[: len(first)].sum())
    message = (
        f"{share_of(taken, 1)} of all sentences are matched to "
        f"{counted(len(first), 'prototype')} ({listed_ids(corpus, first)}), so most explanations "
        "say little more than yes or no. Train with a higher weight on balance, or with more "
        "prototypes."
    )
    evidence = {
        "share_of_sentences": taken,
        "examples": [prototype_evidence(corpus, column) for column in first],
    }
    return [Finding("few_prototypes_take_most", "warning", message, evidence)]


def _unused_prototypes(corpus: AuditCorpus) -> list[Finding]:
    used = corpus.reading.columns_used(len(corpus.model.prototypes))
    unused = np.flatnonzero(~used).tolist()
    if not unused:
        return []
    message = (
        f"{counted(len(unused), 'prototype')} ({listed_ids(corpus, unused)}) "
        f"{'is' if len(unused) == 1 else 'are'} like no sentence of either split most. "
        "Nothing is lost without; drop them or train again."
    )
    evidence = {"examples": [prototype_evidence(corpus, column) for column in unused[:20]]}
    return [Finding("unused_prototypes", "note", message, evidence)]


def _score_calibration(corpus: AuditCorpus) -> list[Finding]:
    rates = class_rates(corpus)
    if len(rates) < _MIN_CALIBRATED:
        return []
    columns = list(rates)
    observed, scores = np.array([rates[column] for column in columns]), _scores(corpus)[columns]
    if len(base := corpus.truth.mean(axis=0)) == 2 and corpus.model.labels.task == "multiclass":
        observed, scores, base = observed[:, 1:], scores[:, 1:], base[1:]
    if observed.std() == 0 or scores.std() == 0:
        return []
    correlation = float(np.corrcoef(observed.ravel(), scores.ravel())[0, 1])
    if correlation >= _POOR_CALIBRATION:
        return []
    message = (
        "The prototypes' scores do not follow the classes of the documents they are found in "
        f"(correlation {correlation:.2f}; 1 would be perfect), so a score shown beside a sentence "
        "is no reason. Trust the trajectory as a whole only, or train again."
    )
    worst = np.argsort(-np.abs(observed - scores).max(axis=1), kind="stable")[:5]
    evidence = {
        "correlation": correlation,
        "examples": [prototype_evidence(corpus, columns[place]) for place in worst],
    }
    return [Finding("poor_score_calibration", "warning", message, evidence)]


def _scores(corpus: AuditCorpus) -> NDArray[np.float64]:
    return np.array([list(item.scores.values()) for item in corpus.model.prototypes])
