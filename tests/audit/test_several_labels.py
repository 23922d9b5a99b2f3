"""The audit of a model that may give a document several labels."""

import numpy as np

from hashing_encoder import HashingEncoder
from prepared_documents import prepare
from protorynet import ProtoryNetClassifier, Settings
from protorynet.audit import audit_model

FOOD = ["The food was delicious tonight.", "We ate a splendid soup."]
ROOM = ["The room was spotless and quiet.", "Our bed was very comfortable."]
REST = ["We came by train on Monday.", "It rained for two days."]


def test_a_suspected_label_is_judged_by_the_class_in_dispute():
    random = np.random.default_rng(0)
    texts, labels = [], []
    for _ in range(300):
        has = random.random(2) < 0.5
        told = [
            part[random.integers(2)]
            for part, is_told in zip((FOOD, ROOM), has, strict=True)
            if is_told
        ]
        first, last = (REST[number] for number in random.integers(2, size=2))
        texts.append(" ".join([first, *told, last]))
        labels.append(has.astype(float))
    truth = np.array(labels)
    sizes = {"n_prototypes": 6, "max_prototypes": 6, "min_prototypes": 6}
    settings = Settings(members=1, epochs=20, retrain_epochs=20, learning_rate=1e-2, **sizes)
    model = ProtoryNetClassifier(HashingEncoder(), settings=settings, device="cpu", cache=False)
    model.fit(texts, truth)
    only_food = next(row for row in range(300) if truth[row].tolist() == [1, 0])
    given = truth.copy()
    given[only_food] = [1, 1]

    splits = prepare(model, texts, given), prepare(model, texts[:40], truth[:40])
    audit = audit_model(model.model_, *splits)
    (finding,) = [found for found in audit.findings if found.kind == "label_suspects"]
    (example,) = finding.evidence["examples"]
    room = float(model.predict_proba([texts[only_food]])[0, 1])
    assert example["row"] == only_food
    assert np.isclose(example["probability"], 1 - room, atol=1e-5)
