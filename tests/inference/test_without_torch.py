import json
import subprocess
import sys

import numpy as np

_HEAVY = ("torch", "transformers", "sklearn", "pandas", "scipy", "safetensors", "onnx")
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


def start(
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
    done = start(script, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_command_predicts_without_torch(exported, trained, unseen_reviews, tmp_path):
    table, output = tmp_path / "new.jsonl", tmp_path / "out.jsonl"
    lines = [json.dumps({"text": text}) for text in unseen_reviews.texts]
    table.write_text("\n".join(lines) + "\n")
    run(_COMMAND, "predict", str(exported), str(table), "--runtime", "onnx", "-o", str(output))
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    given = [[row["p_bad"], row["p_good"]] for row in rows]
    np.testing.assert_allclose(given, trained.predict_proba(unseen_reviews.texts), atol=2e-5)
    predicted = [row["prediction"] for row in rows]
    assert predicted == trained.predict(unseen_reviews.texts).tolist()


def test_the_command_explains_without_torch(exported, trained, tmp_path):
    text = "The room was lovely. The staff was rude."
    said = json.loads(run(_COMMAND, "explain", str(exported), text, "--json"))
    expected = trained.explain(text).to_dict()
    assert said["label"] == expected["label"]
    shown, theirs = ([s["prototype"] for s in each["sentences"]] for each in (said, expected))
    assert shown == theirs
    run(_COMMAND, "explain", str(exported), text, "--html", str(tmp_path / "page.html"))
    assert (tmp_path / "page.html").stat().st_size > 1_000


def test_what_is_missing_is_named_with_the_remedy(exported, tmp_path):
    table = tmp_path / "new.csv"
    table.write_text("text\nA lovely room.\n")
    done = start(_COMMAND, "predict", str(tmp_path), str(table))
    assert done.returncode == 1
    assert "an exported model can be used with predict" in done.stderr.splitlines()[-1]
    done = start(_COMMAND, "predict", str(exported), str(table), absent=("onnxruntime",))
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith("pip install 'protorynet[onnx]'")
