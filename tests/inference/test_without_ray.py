"""What workers and the command do, as far as it needs no Ray."""

from types import ModuleType, SimpleNamespace
from typing import cast

import pytest

from protorynet.errors import ProtoryNetError
from protorynet.inference.ray_cluster import Encoding
from protorynet.inference.ray_prediction import ship_model


@pytest.mark.parametrize(
    ("fingerprint", "device", "message"),
    [
        ("another", "cpu", "is another one than on the machine of the command"),
        (None, "no-such-device", "no-such-device"),
    ],
)
def test_a_worker_that_cannot_encode_as_the_command_says_so(
    tiny_bert_folder, fingerprint, device, message
):
    with pytest.raises(ProtoryNetError, match=message):
        Encoding(str(tiny_bert_folder), fingerprint, device).open()


def test_no_file_outside_of_the_model_is_sent(tmp_path):
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text("{}")
    (tmp_path / "secret").write_text("mine")
    (model / "innocent.json").symlink_to(tmp_path / "secret")
    ray = cast(ModuleType, SimpleNamespace(put=lambda content: content))
    assert ship_model(ray, model) == {"config.json": b"{}"}
