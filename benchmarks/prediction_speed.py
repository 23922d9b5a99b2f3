"""Prediction against its own limit and against rivals, on the same documents in one run.

The limit is the encoder alone: the distinct sentences of the documents, encoded in the best order.
Everything else predicts the documents from their text, nothing cached: ours; a transformer
classifier that reads whole documents; one embedding per document under a logistic regression, in
the manner of SetFit; a bag of words. Rounds take turns, and the best of each counts. On a GPU the
encoder is in bfloat16, as the transformer is, unless `--encoder` says otherwise::

    python benchmarks/prediction_speed.py [--device cuda] [--data FILE] [--json FILE]
"""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from charts import Bar, report
from measuring import best_times, make_reviews, measure, new_parser
from sklearn.linear_model import LogisticRegression

from protorynet import ProtoryNetClassifier, read_table
from protorynet.data import split_documents
from protorynet.encoders import choose_device, load_encoder, split_variant
from protorynet.inference import Predictor
from protorynet_lab.baselines import BagOfWordsClassifier, TransformerClassifier

START = time.perf_counter()


def log(what: str) -> None:
    """Say what was done, for whoever waits or has to stop this before the end."""
    print(f"{time.perf_counter() - START:6.1f} s: {what}", file=sys.stderr, flush=True)


def measure_stages(predictor: Predictor, texts: list[str]) -> dict[str, float]:
    """Return the seconds of each stage of our prediction, one after the other in one process."""
    laps: dict[str, float] = {}
    begin = time.perf_counter()

    def lap(name: str) -> None:
        nonlocal begin
        now = time.perf_counter()
        laps[name], begin = now - begin, now

    sentences = predictor.split(texts)
    lap("split")
    distinct = list(dict.fromkeys(sentences.texts))
    if predictor.facts.words is not None:
        predictor.facts.words.read(distinct)
    lap("words")
    tokenize = getattr(predictor.encoder, "tokenizer", None)
    if tokenize is not None:
        tokenize.tokenize(distinct)
    lap("tokenize")
    embeddings = predictor.encode(sentences)
    lap("tokenize, encode and words")
    predictor.read_prepared(sentences, embeddings)
    lap("match and read")
    predictor.prepare(texts)
    lap("split, encode and words, overlapping")
    return laps


def main() -> None:
    """Train everything on some documents, then time the prediction of others."""
    parser = new_parser(__doc__)
    parser.add_argument("--device", default="auto", help="'auto', 'cpu' or 'cuda'")
    parser.add_argument("--encoder", help="minilm, on a GPU minilm:bf16, if not given")
    parser.add_argument("--data", type=Path, help="a labelled table; made up if not given")
    parser.add_argument("--documents", type=int, default=1_000, help="documents to predict")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--staged", type=int, default=1_000, help="documents of the stages")
    options = parser.parse_args()
    if options.data:
        table = read_table(options.data)
        assert table.labels is not None
        order = np.random.default_rng(0).permutation(len(table))
        chosen = order[: options.documents + 400]
        texts = [table.texts[row] for row in chosen]
        labels: list[Any] = [table.labels[row] for row in chosen]
    else:
        texts, labels = make_reviews(options.documents + 400, sentences=(3, 16))
    seen, known, unseen = texts[:400], labels[:400], texts[400:]

    device = choose_device(options.device)
    on_gpu = device.type == "cuda"
    name = options.encoder or ("minilm:bf16" if on_gpu else "minilm")
    encoder = load_encoder(name, device=options.device)
    settings = {"device": options.device}
    log(f"{len(unseen)} documents to predict, encoder {name}")
    ours = ProtoryNetClassifier(encoder, cache=False, on_empty="skip", **settings).fit(seen, known)
    log("ours has learned")
    base = split_variant(name)[0]
    # It need not know much: what it says is not looked at.
    whole = TransformerClassifier(encoder=base, epochs=1, **settings).fit(seen[:64], known[:64])
    bag = BagOfWordsClassifier().fit(seen, known)
    line = LogisticRegression(max_iter=1000).fit(encoder.encode(seen), known)
    log("the others have learned")
    sentences = sorted(set(split_documents(unseen).texts), key=len, reverse=True)

    best = best_times(
        {
            "encoder alone": lambda: encoder.encode(sentences),
            "ours": lambda: ours.predict(unseen),
            "transformer, whole documents": lambda: whole.predict(unseen),
            "embedding and logistic regression": lambda: line.predict(encoder.encode(unseen)),
            "bag of words": lambda: bag.predict(unseen),
        },
        options.rounds,
    )
    measured = {name: len(unseen) / times.seconds for name, times in best.items()}
    one = unseen[:30]
    milliseconds = 1000 * measure(lambda: [ours.predict([text]) for text in one]).seconds / len(one)
    result = {
        "encoder": encoder.name,
        "device": torch.cuda.get_device_name(device) if on_gpu else "cpu",
        "threads": torch.get_num_threads(),
        "documents": len(unseen),
        "distinct_sentences": len(sentences),
        "documents_per_second": measured,
        "sentences_per_second_of_the_limit": measured["encoder alone"]
        * (len(sentences) / len(unseen)),
        "ours_against": {
            name: measured["ours"] / rate for name, rate in measured.items() if name != "ours"
        },
        "milliseconds_for_one_document": milliseconds,
        "documents_of_the_stages": len(unseen[: options.staged]),
        "seconds_of_the_stages": measure_stages(ours.predictor, unseen[: options.staged]),
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    bars = [Bar(name, rate, f"{rate:,.0f}/s") for name, rate in measured.items()]
    title = "Documents per second (logarithmic)"
    report(result, options.output, title, bars, logarithmic=True)


if __name__ == "__main__":
    main()
