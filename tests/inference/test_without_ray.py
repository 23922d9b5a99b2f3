"""What workers and the command do, as far as it needs no Ray."""

from types import ModuleType, SimpleNamespace
from typing import cast

import pyarrow as pa
import pytest

from protorynet.inference.ray_cluster import SentenceEncoder
from protorynet.inference.ray_prediction import ship_model

BLOCK = pa.table({"row": [0, 1], "text": ["The room was clean.", "Awful."]})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fingerprint": "another"}, "is another one than on the machine of the command"),
        ({"device": "no-such-device"}, "no-such-device"),
    ],
)
def test_a_worker_that_cannot_encode_as_the_command_says_so(tiny_bert_folder, options, message):
    answer = SentenceEncoder(str(tiny_bert_folder), **options)(BLOCK)
    assert all(message in error for error in answer["error"].to_pylist())


def test_no_file_outside_of_the_model_is_sent(tmp_path):
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text("{}")
    (tmp_path / "secret").write_text("mine")
    (model / "innocent.json").symlink_to(tmp_path / "secret")
    ray = cast(ModuleType, SimpleNamespace(put=lambda content: content))
    shipped = ship_model(ray, model, encoder=None, runtime="torch", is_here=False)
    assert shipped.content == {"config.json": b"{}"}
