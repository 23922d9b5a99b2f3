"""Findings about predictions, and about test data that do not look like the training data."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protorynet.audit.audit_corpus import AuditCorpus
from protorynet.audit.findings import Finding, Severity, describe, quote
from protorynet.data import split_documents
from protorynet.explain import SURE, leave_one_out_effects
from protorynet.figures import list_classes

_THROUGHOUT = 0.8
_SHOWN_SUSPECTS, _MANY_SUSPECTS = 20, 0.05
_ENOUGH_OF_A_CLASS = 5
_CLEARLY_BELOW = 0.005  # of a bag of words
_ENOUGH_DOCUMENTS, _ENOUGH_SENTENCES = 30, 50
_UNMOVED = 0.01
_CERTAINTY_GAP = 0.05
_FAR = 0.05
_MANY_FAR, _MOST_FAR = 3 * _FAR, 8 * _FAR
# Of the held-out sentences of training two in a hundred are unfamiliar.
_UNFAMILIAR, _MANY_UNFAMILIAR = 0.02, 0.1
_MOSTLY, _STRANGE_DOCUMENTS, _MANY_STRANGE = 0.5, 3, 0.01
_MANY_UNKNOWN, _MORE_UNKNOWN = 0.1, 2.5
_OTHER_LENGTH = 2.0
_MANY_EMPTY, _MANY_CUT = 0.05, 0.02
_RESPLIT_DOCUMENTS = 4_000


def prediction_findings(
    corpus: AuditCorpus, seed: int = 0, *, floor: float | None = None
) -> list[Finding]:
    """Look at the predictions for both splits; the floor is that of a bag of words."""
    return [
        *_above_the_floor(corpus, floor),
        *label_suspects(corpus),
        *_classes_in_test(corpus),
        *_order_not_used(corpus, seed),
        *_misplaced_certainty(corpus),
    ]


def _above_the_floor(corpus: AuditCorpus, floor: float | None) -> list[Finding]:
    """Compare the accuracy with what can be had without the model."""
    figures = corpus.held_out_figures
    baseline, accuracy = figures.majority_baseline, figures.accuracy
    if figures.n_documents < _ENOUGH_DOCUMENTS:
        return []
    evidence = {"accuracy": accuracy, "majority_baseline": baseline, "bag_of_words": floor}
    if baseline is not None and accuracy <= baseline:
        apart = figures.tells_classes_apart
        severity: Severity = "note" if apart else "serious"
        return [describe("no_better_than_majority", severity, evidence, apart=apart)]
    if floor is not None and accuracy < floor - _CLEARLY_BELOW:
        return [describe("below_bag_of_words", "warning", evidence)]
    return []


def label_suspects(corpus: AuditCorpus) -> list[Finding]:
    """Look for documents that the model is sure about, from early on, against their label."""
    probabilities, truth = corpus.reading.probabilities, corpus.truth
    against = np.abs(truth - probabilities)
    # To doubt one of twenty classes is not to be sure of another.
    several = corpus.model.labels.task == "multilabel"
    label = (against if several else probabilities).argmax(axis=1)
    each = np.arange(len(label))
    running = corpus.reading.running[np.arange(len(corpus.documents)), label[corpus.documents]]
    otherwise = np.abs(truth[each, label][corpus.documents] - running) > 0.5
    throughout = np.bincount(corpus.documents, weights=otherwise) / corpus.reading.lengths
    suspects = np.flatnonzero(
        (against[each, label] >= SURE) & (throughout >= _THROUGHOUT) & ~corpus.right
    )
    if not len(suspects):
        return []
    suspects = suspects[np.argsort(-against[suspects, label[suspects]], kind="stable")]
    count, whole = len(suspects), len(corpus.texts)
    many = count / whole >= _MANY_SUSPECTS
    evidence = {
        "n_documents": count,
        "n_test_documents": int(corpus.is_test[suspects].sum()),
        "examples": _describe_suspects(corpus, np.sort(suspects[:_SHOWN_SUSPECTS]), label),
    }
    facts = {"whole": whole, "many": many, "sure": SURE}
    return [describe("label_suspects", "warning" if many else "note", evidence, **facts)]


def _describe_suspects(
    corpus: AuditCorpus, documents: NDArray[np.int64], disputed: NDArray[np.int64]
) -> list[dict[str, Any]]:
    """Name the sentence of each of some documents that speaks most against its label."""
    part = corpus.reading.part(np.isin(np.arange(len(corpus.texts)), documents))
    said = part.probabilities
    labels = disputed[documents]
    pairs = (np.arange(len(documents)), labels)
    effects = leave_one_out_effects(corpus.model, part, labels)
    is_denied = corpus.truth[documents, labels] > 0
    effects = np.where(np.repeat(is_denied, part.lengths), -effects, effects)
    certainties = np.where(is_denied, 1 - said[pairs], said[pairs])
    found = []
    for number, document in enumerate(documents.tolist()):
        start, end = part.offsets[number], part.offsets[number + 1]
        step = int(effects[start:end].argmax())
        sentence = corpus.reading.offsets[document] + step
        found.append(
            {
                **corpus.example(document),
                "label": corpus.label(document),
                "predicted": corpus.model.labels.name_of(said[number]),
                "probability": float(certainties[number]),
                "sentence": quote(corpus.sentences[sentence]),
                "effect": float(effects[start + step]),
                "prototype": corpus.model.prototypes[int(part.prototypes[start + step])].id,
            }
        )
    return sorted(found, key=lambda suspect: -suspect["probability"])


def _classes_in_test(corpus: AuditCorpus) -> Iterator[Finding]:
    """Look for classes that the test data or the predictions for it lack."""
    there = corpus.truth[corpus.is_test].sum(axis=0)
    given = corpus.predicted[corpus.is_test].sum(axis=0)
    names = corpus.model.labels.names
    for name, count, times in zip(names, there.tolist(), given.tolist(), strict=True):
        if not count:
            yield describe("class_not_in_test", "warning", {"class": name})
        elif not times:
            severity: Severity = "serious" if count >= _ENOUGH_OF_A_CLASS else "warning"
            evidence = {"class": name, "n_test_documents": count}
            yield describe("class_never_predicted", severity, evidence)
    figures = corpus.held_out_figures
    if rare := figures.rarely_found:
        evidence = {"classes": [each.to_dict() for each in rare]}
        facts = {"listed": list_classes(rare), "remedy": figures.remedy_for(rare)}
        yield describe("low_recall", "warning", evidence, **facts)


def _order_not_used(corpus: AuditCorpus, seed: int) -> list[Finding]:
    """Read the test documents shuffled; only those count whose order can be told."""
    matched, offsets = corpus.reading.prototypes, corpus.reading.offsets[:-1]
    varied = np.maximum.reduceat(matched, offsets) != np.minimum.reduceat(matched, offsets)
    chosen = varied & corpus.is_test
    count = int(chosen.sum())
    if count < _ENOUGH_DOCUMENTS:
        return []
    read = corpus.model.read(corpus.reading.part(chosen).shuffle(seed))
    shuffled = corpus.model.labels.decide(read.probabilities)
    changed = int((shuffled != corpus.predicted[chosen]).any(axis=1).sum())
    if changed / count >= _UNMOVED:
        return []
    right = (shuffled == corpus.truth[chosen]).all(axis=1)
    evidence = {
        "n_documents": count,
        "n_changed": changed,
        "accuracy": float(corpus.right[chosen].mean()),
        "shuffled_accuracy": float(right.mean()),
    }
    return [describe("order_not_used", "note", evidence)]


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
        sure = float(probabilities.max(axis=1).mean())
        right = float(corpus.right[corpus.is_test].mean())
    if abs(sure - right) < max(_CERTAINTY_GAP, 3 * np.sqrt(max(right * (1 - right), 1e-4) / count)):
        return []
    evidence = {"mean_certainty": sure, "share_right": right, "n_documents": count}
    return [describe("misplaced_certainty", "warning", evidence)]


def unfamiliar_sentences(corpus: AuditCorpus) -> list[Finding]:
    """Look whether many test sentences, or documents, lie far from every prototype.

    Far is what the model finds unfamiliar or, where it does not know, what is farther than nearly
    all training sentences.
    """
    similarities, familiar = corpus.reading.similarities, corpus.model.familiar
    in_test = np.flatnonzero(corpus.in_test)
    enough = min(len(in_test), len(similarities) - len(in_test)) >= _ENOUGH_SENTENCES
    if not (enough or familiar):
        return []
    limit = familiar or float(np.quantile(similarities[~corpus.in_test], _FAR))
    far = in_test[(corpus.reading.unfamiliar if familiar else similarities < limit)[in_test]]
    share = len(far) / len(in_test)
    strange = corpus.reading.unfamiliar_share[corpus.is_test] > _MOSTLY
    odd = strange.sum() >= max(_STRANGE_DOCUMENTS, _MANY_STRANGE * len(strange))
    many = share >= (_MANY_UNFAMILIAR if familiar else _MANY_FAR) and (enough or odd)
    if not (many or odd):
        return []
    far = far[np.argsort(similarities[far], kind="stable")]
    _, first = np.unique(corpus.same_sentence[far], return_index=True)
    evidence = {
        "share_of_test_sentences": share,
        "n_test_documents": int(strange.sum()),
        "least_usual_similarity": limit,
        "examples": [
            {
                **corpus.example(int(corpus.documents[sentence])),
                "text": quote(corpus.sentences[sentence]),
                "similarity": float(similarities[sentence]),
                "prototype": corpus.model.prototypes[int(corpus.reading.prototypes[sentence])].id,
            }
            for sentence in far[np.sort(first)[:5]].tolist()
        ],
    }
    severity: Severity = ("serious" if share >= _MOST_FAR else "warning") if many else "note"
    facts = {
        "is_known": familiar > 0,
        "least": 1 - (_UNFAMILIAR if familiar else _FAR),
        "many": many,
        "share_of_documents": float(strange.mean()),
    }
    return [describe("unfamiliar_sentences", severity, evidence, **facts)]


def worded_shift_findings(corpus: AuditCorpus) -> list[Finding]:
    """Compare the words and lengths of the splits, and count sentences that were cut."""
    return [*_unknown_words(corpus), *_other_length(corpus), *_cut_sentences(corpus)]


def empty_documents(corpus: AuditCorpus) -> Iterator[Finding]:
    """Count the documents without a sentence."""
    for is_test, empty in zip((False, True), corpus.n_empty, strict=True):
        if not empty:
            continue
        whole = empty + int((corpus.is_test == is_test).sum())
        evidence = {"split": "test" if is_test else "train", "n_documents": empty}
        severity: Severity = "warning" if empty / whole >= _MANY_EMPTY else "note"
        yield describe("empty_documents", severity, evidence, whole=whole)


def _unknown_words(corpus: AuditCorpus) -> list[Finding]:
    """Compare the share of words unknown from training with what training itself would give."""
    words, is_test = corpus.document_words, corpus.is_test
    if min(is_test.sum(), (~is_test).sum()) < _ENOUGH_DOCUMENTS:
        return []
    part = np.zeros(len(is_test), np.int64)
    part[is_test] = 2
    # Copies would make training look more like itself than new texts are.
    part[np.flatnonzero(~is_test & corpus.is_first)[::5]] = 1
    of_word = part[words.owners]
    unknown = ~np.isin(words.words, words.words[of_word < 2])
    held_out = ~np.isin(words.words, words.words[of_word == 0])
    in_test, in_part = of_word == 2, of_word == 1
    if not in_test.any() or not in_part.any():
        return []
    share, usual = float(unknown[in_test].mean()), float(held_out[in_part].mean())
    if share < max(_MANY_UNKNOWN, _MORE_UNKNOWN * usual):
        return []
    counts = np.bincount(words.owners, weights=unknown & in_test, minlength=len(is_test))
    worst = np.argsort(-counts / np.maximum(words.lengths, 1), kind="stable")[:5]
    evidence = {
        "share_of_words": share,
        "usual_share": usual,
        "examples": [corpus.example(int(document)) for document in worst],
    }
    return [describe("unknown_words", "warning", evidence)]


def _other_length(corpus: AuditCorpus) -> list[Finding]:
    lengths, is_test = corpus.document_words.lengths, corpus.is_test
    if min(is_test.sum(), (~is_test).sum()) < _ENOUGH_DOCUMENTS:
        return []
    train, test = (float(np.median(lengths[is_test == split])) for split in (False, True))
    if max(train, test) < _OTHER_LENGTH * max(min(train, test), 1):
        return []
    evidence = {"median_words_train": train, "median_words_test": test}
    return [describe("other_length", "warning", evidence)]


def _cut_sentences(corpus: AuditCorpus) -> list[Finding]:
    """Split the documents without the encoder's window, to see how often it cuts."""
    chosen = np.arange(0, len(corpus.texts), -(-len(corpus.texts) // _RESPLIT_DOCUMENTS))
    texts = [corpus.texts[document] for document in chosen]
    whole = split_documents(texts, splitter=corpus.model.splitter, on_empty="skip")
    starts = np.cumsum(whole.lengths) - whole.lengths
    lengths, offsets = corpus.reading.lengths[chosen], corpus.reading.offsets[chosen]
    cut = np.zeros(len(chosen), np.int64)
    for at in np.flatnonzero(lengths != whole.lengths).tolist():
        sentences = set(whole.texts[starts[at] : starts[at] + whole.lengths[at]])
        pieces = corpus.sentences[offsets[at] : offsets[at] + lengths[at]]
        cut[at] = sum(piece not in sentences for piece in pieces)
    share = float(cut.sum() / lengths.sum())
    if share < _MANY_CUT:
        return []
    most = np.argsort(-cut, kind="stable")[:5]
    examples = [{**corpus.example(int(chosen[at])), "pieces": int(cut[at])} for at in most]
    return [describe("cut_sentences", "note", {"share": share, "examples": examples})]
