from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

_HEAVY = ("torch", "transformers", "sklearn", "pandas", "scipy", "onnx")
# As where they are not installed: None in sys.modules would be seen by those who only look there.
_BLOCKED = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {absent!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
"""
_COMMAND = "from protorynet.cli import main\nsys.exit(main(sys.argv[1:]))"


def started(
    script: str, *words: str, absent: tuple[str, ...] = _HEAVY
) -> subprocess.CompletedProcess[str]:
    """Run a script in a Python that cannot import some packages."""
    return subprocess.run(
        [sys.executable, "-c", _BLOCKED.format(absent=absent) + script, *words],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def run(script: str, *words: str) -> str:
    """Run a script, which must succeed, in a Python that cannot import the heavy packages."""
    done = started(script, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "module",
    [
        "cli",
        "data",
        "encoders",
        "inference.opening",
        "inference.predictor",
        "labels",
        "preparation",
    ],
)
def test_a_room_is_entered_without_the_heavy_packages(module) -> None:
    run(f"import protorynet.{module}")


def test_texts_are_scored_and_explained_without_torch(
    exported, trained, unseen_reviews, tmp_path
) -> None:
    texts = unseen_reviews.texts
    (tmp_path / "texts.json").write_text(json.dumps(texts))
    said = json.loads(
        run(
            "import json\n"
            "from protorynet.inference import open_predictor\n"
            "texts = json.load(open(sys.argv[2]))\n"
            "scorer = open_predictor(sys.argv[1], cache=False)\n"
            "scores = scorer.read(texts)\n"
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
    assert said[1] == trained.read(texts).columns.tolist()
    assert trained.explain(texts[0]).sentences[0].prototype_sentence[:12] in said[2]
    assert (tmp_path / "page.html").stat().st_size > 1_000


def test_the_command_predicts_without_torch(exported, trained, unseen_reviews, tmp_path) -> None:
    table, output = tmp_path / "new.jsonl", tmp_path / "out.jsonl"
    lines = [json.dumps({"text": text}) for text in unseen_reviews.texts]
    table.write_text("\n".join(lines) + "\n")
    words = ["predict", str(exported), str(table), "--runtime", "onnx", "-o", str(output)]
    run(_COMMAND, *words)
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    predicted = [row["prediction"] for row in rows]
    assert predicted == trained.predict(unseen_reviews.texts).tolist()


def test_the_command_explains_without_torch(exported, trained) -> None:
    text = "The room was lovely. The staff was rude."
    said = json.loads(run(_COMMAND, "explain", str(exported), text, "--json"))
    expected = trained.explain(text).to_dict()
    assert said["label"] == expected["label"]
    assert [step["prototype"] for step in said["sentences"]] == [
        step["prototype"] for step in expected["sentences"]
    ]


def test_a_model_that_needs_torch_is_refused_with_the_remedy(tmp_path) -> None:
    (tmp_path / "new.csv").write_text("text\nA lovely room.\n")
    done = started(_COMMAND, "predict", str(tmp_path), str(tmp_path / "new.csv"))
    assert done.returncode == 1
    assert "an exported model can be used with predict" in done.stderr.splitlines()[-1]


def test_a_missing_onnx_runtime_is_named_with_its_remedy(exported, tmp_path) -> None:
    table = tmp_path / "new.csv"
    table.write_text("text\nA lovely room.\n")
    words = ("predict", str(exported), str(table))
    done = started(_COMMAND, *words, absent=("onnxruntime",))
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith("pip install 'protorynet[onnx]'")
