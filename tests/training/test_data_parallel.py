"""Several processes train one model: the same weights everywhere, as good as one process."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

slow = pytest.mark.slow
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
clf = ProtoryNetClassifier(folder, settings=Settings(**data["settings"]), cache=False, device="cpu")
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


@pytest.mark.parametrize(
    ("members", "size"),
    [(50, 2), pytest.param(50, 3, marks=slow), *(pytest.param(1, n, marks=slow) for n in (2, 3))],
)
def test_all_processes_end_with_the_same_model(
    tiny_bert_folder, quick, reviews, unseen_reviews, tmp_path, members, size
):
    options = {"encoder_training": "full", "full_epochs": 3, "members": members}
    options |= {"encoder_learning_rate": 3e-3, "full_anchor": 0.0, "full_retrain_epochs": 1}
    data = {"texts": reviews.texts, "labels": reviews.labels, "unseen": unseen_reviews.texts}
    data |= {"settings": {**vars(quick), **options}}
    (tmp_path / "data.json").write_text(json.dumps(data))
    command = [sys.executable, "-c", WORKER, str(tiny_bert_folder), str(tmp_path)]
    quiet = {**os.environ, "OMP_NUM_THREADS": "1"}
    workers = [
        subprocess.Popen([*command, str(rank), str(size)], env=quiet) for rank in range(size)
    ]
    assert [worker.wait(240) for worker in workers] == [0] * size
    first, *others = [dict(np.load(path)) for path in sorted(tmp_path.glob("*.npz"))]
    truth = np.array(unseen_reviews.labels) == "good"
    assert np.mean((first["probabilities"][:, 1] > 0.5) == truth) > 0.8
    assert len(others) == size - 1
    for other in others:
        for name, expected in first.items():
            assert np.array_equal(other[name], expected), name
