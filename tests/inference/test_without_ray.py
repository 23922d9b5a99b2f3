"""What workers and the command do, as far as it needs no Ray."""

from inspect import getattr_static
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from protorynet.encoders import load_encoder
from protorynet.errors import ProtoryNetError
from protorynet.inference.ray_cluster import Encoding, worker_pool
from protorynet.inference.ray_prediction import ship_model
from protorynet.ray_training import KnownEncoder


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


def test_an_encoder_with_vectors_at_hand_is_one_for_every_version_of_python(tiny_bert_folder):
    encoder: Any = load_encoder(tiny_bert_folder, device="cpu")
    known = KnownEncoder(encoder, ["Awful."], np.full((1, encoder.dimension), 7, np.float32))
    # From Python 3.12 on, protocols are checked without asking __getattr__.
    assert getattr_static(known, "fingerprint") == encoder.fingerprint
    assert getattr_static(known, "window") == encoder.window
    assert known.encode(["Awful."])[0, 0] == 7
    assert np.array_equal(known.encode(["Clean."]), encoder.encode(["Clean."]))


def test_no_file_outside_of_the_model_is_sent(tmp_path):
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text("{}")
    (tmp_path / "secret").write_text("mine")
    (model / "innocent.json").symlink_to(tmp_path / "secret")
    ray = cast(ModuleType, SimpleNamespace(put=lambda content: content))
    shipped = ship_model(ray, model, encoder=None, runtime="torch", is_here=False)
    assert shipped.content == {"config.json": b"{}"}


@pytest.mark.parametrize(("device", "gpus", "size"), [("cpu", 0, 8), ("auto", 1, 2)])
def test_workers_on_cpus_leave_the_gpus_of_a_cluster_alone(device, gpus, size):
    data = SimpleNamespace(ActorPoolStrategy=dict)
    cluster = SimpleNamespace(data=data, cluster_resources=lambda: {"CPU": 8.0, "GPU": 2.0})
    pool = worker_pool(cast(ModuleType, cluster), 20, device)
    assert (pool["num_gpus"], pool["compute"]["size"]) == (gpus, size)
