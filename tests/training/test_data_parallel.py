"""Several processes train one model: the same weights everywhere, as good as one process."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

WORKER = """
import json, sys
from pathlib import Path
import numpy as np
import torch
import torch.distributed as dist
from protorynet import ProtoryNetClassifier, Settings

folder, out, rank, size, options = sys.argv[1:]
torch.set_num_threads(1)
if int(size) > 1:
    store = f"file://{out}/store"
    dist.init_process_group("gloo", init_method=store, rank=int(rank), world_size=int(size))
data = json.loads(Path(out, "data.json").read_text())
settings = Settings(**json.loads(options))
clf = ProtoryNetClassifier(folder, settings=settings, device="cpu", cache=False)
clf.fit(data["texts"], data["labels"], checkpoint=Path(out, "run"))
weights = torch.cat([w.detach().reshape(-1) for w in clf.encoder_.network.parameters()])
np.savez(
    Path(out, f"{rank}.npz"),
    weights=weights.numpy(),
    prototypes=clf.prototypes_.ids,
    sentences=[member.sentence for member in clf.prototypes_.members],
    vectors=clf.model_.network.members.numpy(),
    probabilities=clf.predict_proba(data["unseen"]),
)
"""


def train(
    folder: Path, out: Path, size: int, options: dict[str, Any]
) -> list[dict[str, NDArray[Any]]]:
    """Train in some processes, and return what each of them has in the end."""
    command = [sys.executable, "-c", WORKER, str(folder), str(out)]
    quiet = {**os.environ, "OMP_NUM_THREADS": "1"}
    workers = [
        subprocess.Popen([*command, str(rank), str(size), json.dumps(options)], env=quiet)
        for rank in range(size)
    ]
    assert [worker.wait(240) for worker in workers] == [0] * size
    return [dict(np.load(out / f"{rank}.npz")) for rank in range(size)]


@pytest.fixture(
    scope="module",
    params=[(2, 1), (2, 50), pytest.param((3, 50), marks=pytest.mark.slow)],
    ids=["two, single", "two", "three"],
)
def together(request, tiny_bert_folder, quick, reviews, unseen_reviews, tmp_path_factory):
    out = tmp_path_factory.mktemp("together")
    data = {"texts": reviews.texts, "labels": reviews.labels, "unseen": unseen_reviews.texts}
    (out / "data.json").write_text(json.dumps(data))
    size, members = request.param
    options = {"encoder_training": "full", "full_epochs": 3, "members": members}
    options |= {"encoder_learning_rate": 3e-3, "full_anchor": 0.0}
    return train(tiny_bert_folder, out, size, {**vars(quick), **options})


def test_all_processes_end_with_the_same_model(together, unseen_reviews):
    truth = np.array(unseen_reviews.labels) == "good"
    assert np.mean((together[0]["probabilities"][:, 1] > 0.5) == truth) > 0.8
    for other in together[1:]:
        for name, expected in together[0].items():
            assert np.array_equal(other[name], expected), name
