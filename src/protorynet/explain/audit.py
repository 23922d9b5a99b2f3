"""What a careful colleague would tell before a model is trusted."""

from __future__ import annotations

from protorynet.errors import InputError
from protorynet.explain.audit_artefacts import artefact_sentences, copied_passages
from protorynet.explain.audit_copies import copy_findings
from protorynet.explain.audit_corpus import AuditCorpus, LabelledDocuments, read_corpus
from protorynet.explain.audit_evidence import WordEvidence
from protorynet.explain.audit_meanings import meaning_findings
from protorynet.explain.audit_predictions import prediction_findings
from protorynet.explain.audit_shift import (
    empty_documents,
    unfamiliar_sentences,
    worded_shift_findings,
)
from protorynet.explain.audit_usage import usage_findings
from protorynet.explain.findings import Audit, Finding
from protorynet.model import PRECOMPUTED, Model

__all__ = ["audit_model"]


def audit_model(
    model: Model, train: LabelledDocuments, test: LabelledDocuments, *, seed: int = 0
) -> Audit:
    """Look for what would make a model's figures or explanations misleading.

    Texts in both splits, duplicates, contradicting or doubtful labels, leftovers and boilerplate
    in the texts and among the prototypes, classes without prototypes, test data unlike the
    training data, and more: each is a `Finding` that says what to do. Where the model was given
    vectors in place of texts, what needs texts is left out.

    Parameters
    ----------
    model
        The model.
    train, test
        The documents that it was made from, and others.
    seed
        Seed of the sampling and shuffling.

    Returns
    -------
    Audit
        The findings, most serious first.
    """
    for name, split in (("training", train), ("test", test)):
        if not split.sentences.filled.any():
            raise InputError(f"there are no {name} documents with a sentence to audit.")
    corpus = read_corpus(model, train, test)
    findings = [
        *([] if model.encoder.name == PRECOMPUTED else _about_texts(corpus, seed)),
        *usage_findings(corpus),
        *prediction_findings(corpus, seed),
        *unfamiliar_sentences(corpus),
        *empty_documents(corpus),
    ]
    n_test = int(corpus.is_test.sum())
    return Audit.of(findings, n_train=len(corpus.texts) - n_test, n_test=n_test)


def _about_texts(corpus: AuditCorpus, seed: int) -> list[Finding]:
    evidence = WordEvidence(corpus, seed)
    return [
        *artefact_sentences(corpus, evidence),
        *meaning_findings(corpus, evidence),
        *copy_findings(corpus),
        *copied_passages(corpus),
        *worded_shift_findings(corpus),
    ]
