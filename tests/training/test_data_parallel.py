"""Several processes train one model: the same weights everywhere, as good as one process."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

KINDS = {"single": 1, "families": 50}
WORKER = """
import json, sys
from pathlib import Path
import numpy as np
import torch
import torch.distributed as dist
from protorynet import ProtoryNetClassifier, Settings

folder, out, rank, size = sys.argv[1:]
torch.set_num_threads(1)
if int(size) > 1:
    store = f"file://{out}/store"
    dist.init_process_group("gloo", init_method=store, rank=int(rank), world_size=int(size))
data = json.loads(Path(out, "data.json").read_text())
for name, options in data["settings"].items():
    clf = ProtoryNetClassifier(folder, settings=Settings(**options), device="cpu", cache=False)
    clf.fit(data["texts"], data["labels"], checkpoint=Path(out, "run", name))
    weights = torch.cat([w.detach().reshape(-1) for w in clf.encoder_.network.parameters()])
    np.savez(
        Path(out, f"{name}-{rank}.npz"),
        weights=weights.numpy(),
        prototypes=clf.prototypes_.ids,
        sentences=[member.sentence for member in clf.prototypes_.members],
        vectors=clf.model_.network.members.numpy(),
        probabilities=clf.predict_proba(data["unseen"]),
    )
"""


@pytest.fixture(scope="module", params=[2, pytest.param(3, marks=pytest.mark.slow)])
def together(request, tiny_bert_folder, quick, reviews, unseen_reviews, tmp_path_factory):
    """Train both kinds of prototypes in some processes; return the folder of what each has."""
    out, size = tmp_path_factory.mktemp("together"), request.param
    options = {"encoder_training": "full", "full_epochs": 3}
    options |= {"encoder_learning_rate": 3e-3, "full_anchor": 0.0, "full_retrain_epochs": 1}
    settings = {name: {**vars(quick), **options, "members": n} for name, n in KINDS.items()}
    data = {"texts": reviews.texts, "labels": reviews.labels, "unseen": unseen_reviews.texts}
    (out / "data.json").write_text(json.dumps({**data, "settings": settings}))
    command = [sys.executable, "-c", WORKER, str(tiny_bert_folder), str(out)]
    quiet = {**os.environ, "OMP_NUM_THREADS": "1"}
    workers = [
        subprocess.Popen([*command, str(rank), str(size)], env=quiet) for rank in range(size)
    ]
    assert [worker.wait(240) for worker in workers] == [0] * size
    return out


@pytest.mark.parametrize("kind", KINDS)
def test_all_processes_end_with_the_same_model(together, unseen_reviews, kind):
    first, *others = [dict(np.load(path)) for path in sorted(together.glob(f"{kind}-*.npz"))]
    truth = np.array(unseen_reviews.labels) == "good"
    assert np.mean((first["probabilities"][:, 1] > 0.5) == truth) > 0.8
    assert others
    for other in others:
        for name, expected in first.items():
            assert np.array_equal(other[name], expected), name
