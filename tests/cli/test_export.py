import json

import pytest

from protorynet.cli import main

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


@pytest.fixture(scope="module")
def exported(trained, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli") / "exported"
    assert main(["export", str(trained), "-o", str(folder), "--format", "onnx"]) == 0
    return folder


def test_the_export_tells_how_both_do_on_a_table(run, trained, table, tmp_path):
    ended = run("export", trained, "-o", tmp_path / "m", "--check", table, "--json")
    said = json.loads(ended.out)
    assert said["check"]["same_labels"] == 1
    assert said["check"]["accuracy"] == said["check"]["exported_accuracy"]
    assert said["trial"]["largest_difference"] < 1e-4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("export", "MODEL", "-o", "FOLDER"), "is not an exported model"),
        (("export", "MODEL", "-o", "m", "--format", "tflite"), "onnx"),
        (("export", "MODEL", "-o", "m", "--text", "review"), "need --check TABLE"),
        (("explain", "EXPORT", "Fine.", "--words"), "ask the model that it was made of"),
        (("prototypes", "EXPORT"), "is an exported model"),
        (("predict", "MODEL", "TABLE", "--runtime", "onnx"), "protorynet export"),
        (("explain", "MODEL", "Fine.", "--runtime", "onnx"), "protorynet export"),
    ],
)
def test_what_cannot_be_done_is_refused(fails, trained, exported, table, tmp_path, words, message):
    (tmp_path / "precious.txt").write_text("mine")
    known = {"MODEL": trained, "EXPORT": exported, "TABLE": table, "FOLDER": tmp_path}
    assert message in fails(*(known.get(word, word) for word in words))
