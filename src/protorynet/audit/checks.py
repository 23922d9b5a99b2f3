"""What a careful colleague would tell before a model is trusted."""

from protorynet.audit.audit_corpus import AuditCorpus, read_corpus
from protorynet.audit.copied_documents import copy_findings
from protorynet.audit.findings import Audit, Finding
from protorynet.audit.leftovers import (
    WordEvidence,
    artefact_sentences,
    copied_passages,
    find_artefacts,
    fixed_sentences,
    sign_findings,
)
from protorynet.audit.prediction_findings import (
    empty_documents,
    prediction_findings,
    unfamiliar_sentences,
    worded_shift_findings,
)
from protorynet.audit.prototype_findings import meaning_findings, member_findings, usage_findings
from protorynet.errors import InputError
from protorynet.explain import LabelledDocuments
from protorynet.model import PRECOMPUTED, Model
from protorynet.training import measure_floor

_BY_SEVERITY = ("serious", "warning", "note")


def audit_model(
    model: Model,
    train: LabelledDocuments,
    test: LabelledDocuments,
    *,
    floor: float | None = None,
    seed: int = 0,
) -> Audit:
    """Look for what would make a model's figures or explanations misleading.

    Each `Finding` says what to do. Where the model was given vectors in place of texts, what needs
    texts is left out. The floor is what a bag of words reaches on the test documents; it is
    measured where it is not given. The seed is that of the sampling.
    """
    for name, split in (("training", train), ("test", test)):
        if not split.sentences.filled.any():
            raise InputError(f"there are no {name} documents with a sentence to audit.")
    corpus = read_corpus(model, train, test)
    has_texts = model.encoder.name != PRECOMPUTED
    if floor is None and has_texts:
        floor = measure_floor(model, *(corpus.of_split(is_test) for is_test in (False, True)))
    findings = [
        *(_about_texts(corpus, seed) if has_texts else []),
        *usage_findings(corpus),
        *prediction_findings(corpus, seed, floor=floor),
        *unfamiliar_sentences(corpus),
        *empty_documents(corpus),
    ]
    n_test = int(corpus.is_test.sum())
    ordered = sorted(findings, key=lambda finding: _BY_SEVERITY.index(finding.severity))
    return Audit(tuple(ordered), len(corpus.texts) - n_test, n_test)


def _about_texts(corpus: AuditCorpus, seed: int) -> list[Finding]:
    evidence = WordEvidence(corpus, seed)
    artefacts = find_artefacts(corpus, evidence)
    return [
        *artefact_sentences(corpus, artefacts),
        *fixed_sentences(corpus),
        *sign_findings(corpus),
        *meaning_findings(corpus, evidence),
        *member_findings(corpus, {found.number for found in artefacts}),
        *copy_findings(corpus),
        *copied_passages(corpus),
        *worded_shift_findings(corpus),
    ]
