from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from protorynet import ProtoryNetClassifier

_HEAVY = ("torch", "transformers", "sklearn", "pandas", "scipy", "onnx")
# As where they are not installed: None in sys.modules would be seen by those who only look there.
_BLOCKED = f"""
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {_HEAVY!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
"""


def run(script: str, *words: str) -> str:
    """Run a script in a Python that cannot import the heavy packages."""
    done = subprocess.run(
        [sys.executable, "-c", _BLOCKED + script, *words],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "module",
    ["cli.app", "encoders", "labels", "preparation", "runtime.scorer", "scoring", "text"],
)
def test_a_room_is_entered_without_the_heavy_packages(module: str) -> None:
    run(f"import protorynet.{module}")


def test_texts_are_scored_and_explained_without_torch(
    exported: Path, trained: ProtoryNetClassifier, unseen_reviews: Any, tmp_path: Path
) -> None:
    texts = unseen_reviews.texts
    (tmp_path / "texts.json").write_text(json.dumps(texts))
    said = json.loads(
        run(
            "import json\n"
            "from protorynet.runtime import OnnxScorer\n"
            "texts = json.load(open(sys.argv[2]))\n"
            "scorer = OnnxScorer.load(sys.argv[1], cache=False)\n"
            "scores = scorer.score(texts)\n"
            "explanation = scorer.explain(texts[:1])[0]\n"
            "explanation.to_html(sys.argv[3])\n"
            "print(json.dumps([scores.probabilities.tolist(), scores.columns.tolist(),\n"
            "                  str(explanation)]))",
            str(exported),
            str(tmp_path / "texts.json"),
            str(tmp_path / "page.html"),
        )
    )
    expected = trained.predict_proba(texts)
    assert np.array_equal(np.argmax(said[0], axis=1), expected.argmax(axis=1))
    np.testing.assert_allclose(said[0], expected, atol=1e-5, rtol=0)
    assert said[1] == trained.trace(texts)[0].columns.tolist()
    assert trained.explain(texts[0]).sentences[0].prototype_sentence[:12] in said[2]
    assert (tmp_path / "page.html").stat().st_size > 1_000


def test_the_command_predicts_without_torch(
    exported: Path, trained: ProtoryNetClassifier, unseen_reviews: Any, tmp_path: Path
) -> None:
    table, output = tmp_path / "new.jsonl", tmp_path / "out.jsonl"
    lines = [json.dumps({"text": text}) for text in unseen_reviews.texts]
    table.write_text("\n".join(lines) + "\n")
    words = ["predict", str(exported), str(table), "--runtime", "onnx", "-o", str(output)]
    run("from protorynet.cli import main\nsys.exit(main(sys.argv[1:]))", *words)
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    predicted = [row["prediction"] for row in rows]
    assert predicted == trained.predict(unseen_reviews.texts).tolist()
