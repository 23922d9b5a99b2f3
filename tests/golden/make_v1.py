"""Write the model directories of format 1 that every later release must load.

Run once, when the format was made::

    python tests/golden/make_v1.py

Never run it again for a released format: a new format gets a script and a folder of its own.
The models need no weights from elsewhere: one reads texts by word hashing, one reads vectors.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

_HERE = Path(__file__).parent
sys.path.insert(0, str(_HERE.parent))

from hashing_encoder import HashingEncoder  # noqa: E402
from protorynet import ProtoryNetClassifier, Settings  # noqa: E402

_NOUNS = ["room", "bed", "breakfast", "pool", "staff", "view"]
_WORDS = {
    "gut": ["lovely", "clean", "wonderful"],
    "très mauvais": ["dirty", "awful", "broken"],
    "so so": ["plain", "average", "ordinary"],
}
_SETTINGS = Settings(
    n_prototypes=12,
    min_prototypes=4,
    max_prototypes=8,
    reader_size=8,
    adapter_size=8,
    batch_size=8,
    learning_rate=0.01,
    epochs=20,
    retrain_epochs=20,
    validation_fraction=0.2,
)


def main() -> None:
    """Train both models and write what they predict."""
    folder = _HERE / "v1"
    if folder.exists():
        sys.exit(f"{folder} exists; the models of a format are made once.")
    try:
        _texts(folder / "texts")
        _vectors(folder / "vectors")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _texts(folder: Path) -> None:
    """Three classes, unicode names, an adapter."""
    texts, labels = [], []
    for number in range(60):
        label = list(_WORDS)[number % 3]
        noun = _NOUNS[number // 3 % 6]
        word = _WORDS[label][number // 18 % 3]
        texts.append(f"The {noun} was {word}. We stayed for {number % 4 + 2} nights.")
        labels.append(label)
    clf = ProtoryNetClassifier(HashingEncoder(), settings=_SETTINGS, device="cpu", cache=False)
    clf.fit(texts, labels)
    _write(clf, folder, [*texts[:12], "What a lovely view!", "Nothing like it. Dirty bed."])


def _vectors(folder: Path) -> None:
    """Two labels at once, no adapter, cosine distance, a deeper reader."""
    draw = np.random.default_rng(0)
    labels = draw.integers(2, size=(50, 2))
    sequences = [
        (
            draw.normal(size=(draw.integers(1, 4), 5))
            + 3 * (row @ [[1, 0, 0, 0, 1], [0, 1, 0, 1, 0]])
        )
        .round(3)
        .tolist()
        for row in labels
    ]
    settings = _SETTINGS.replace(encoder_training="none", distance="cosine", reader_layers=2)
    clf = ProtoryNetClassifier("precomputed", settings=settings, device="cpu")
    clf.fit([np.array(sequence) for sequence in sequences], labels)
    _write(clf, folder, sequences[:12])


def _write(clf: ProtoryNetClassifier, folder: Path, inputs: list[Any]) -> None:
    documents = [text if isinstance(text, str) else np.array(text) for text in inputs]
    folder.mkdir(parents=True)
    clf.save(folder / "model")
    expected = {
        "inputs": inputs,
        "probabilities": clf.predict_proba(documents).tolist(),
        "predictions": clf.predict(documents).tolist(),
        "explanations": [explanation.to_dict() for explanation in clf.explain(documents)],
    }
    text = json.dumps(expected, indent=1, ensure_ascii=False)
    (folder / "expected.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
