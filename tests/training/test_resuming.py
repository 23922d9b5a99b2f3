"""Checkpoints: a killed run resumes to the same model, and no wrong checkpoint is used."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from trained_tensors import different_tensors

from protorynet import ProtoryNetClassifier
from protorynet.errors import CheckpointError, InputError
from protorynet.training import Checkpoint

_SAVE = Checkpoint.save
_OTHER = "other data, settings, seed or encoder"


def copy_after_every_save(patch: pytest.MonkeyPatch, copies: Path) -> list[str]:
    """Keep what a run killed after each save would leave; return the list of stages saved."""
    stages: list[str] = []

    def save(self: Checkpoint, stage: str, tensors: Any, facts: Any) -> None:
        _SAVE(self, stage, tensors, facts)
        stages.append(stage)
        shutil.copytree(self.folder, copies / str(len(stages)))

    patch.setattr(Checkpoint, "save", save)
    return stages


def one_of_each(stages: list[str]) -> list[int]:
    """Return after how many saves each stage is under way: first of one, last of another."""
    numbers = {stage: [n for n, s in enumerate(stages, start=1) if s == stage] for stage in stages}
    return [found[-(number % 2)] for number, found in enumerate(numbers.values())]


@pytest.mark.parametrize(
    ("encoder_training", "members"),
    [("adapter", 1), ("full", 1), ("none", 50), ("full", 50)],
)
def test_a_run_killed_in_any_stage_resumes_to_the_same_model(
    reviews, encoder, tiny_bert_folder, single, tmp_path, encoder_training, members
):
    changes = {"epochs": 3, "project_every": 2, "reader_layers": 2, "reader_dropout": 0.3}
    if encoder_training == "full":
        encoder = tiny_bert_folder
        changes = {"full_epochs": 2, "encoder_learning_rate": 1e-3, "full_batch_size": 8}
    changes |= {"encoder_training": encoder_training, "members": members}
    if members > 1:
        changes |= {"retrain_epochs": 1}  # of a reader that is kept at its end only
    settings = single.replace(max_prototypes=4, **changes)

    def make() -> ProtoryNetClassifier:
        return ProtoryNetClassifier(encoder, settings=settings, device="cpu", cache=False)

    count = 24 if members == 1 else 40  # so many that families are learned in parts
    data = reviews.texts[:count], reviews.labels[:count]
    with pytest.MonkeyPatch.context() as patch:
        stages = copy_after_every_save(patch, tmp_path)
        whole = make().fit(*data, checkpoint=tmp_path / "whole")
    expected = {"train", "retrain", "prune"} if members == 1 else {"evidence"}
    assert {stage.split()[0] for stage in stages} >= expected
    for saves in one_of_each(stages):
        torch.manual_seed(saves)  # another process would have other random numbers
        resumed = make().fit(*data, checkpoint=tmp_path / str(saves), resume=True)
        assert not different_tensors(resumed, whole), f"killed in {stages[saves - 1]}"
        assert resumed.prototypes_ == whole.prototypes_
        assert resumed.model_.training.curve == whole.model_.training.curve


@pytest.fixture(scope="module")
def make(encoder, single):
    def classifier(random_state: int = 0, **changes: Any) -> ProtoryNetClassifier:
        options = {"random_state": random_state, "device": "cpu", "cache": False}
        return ProtoryNetClassifier(encoder, settings=single.replace(**changes), **options)

    return classifier


@pytest.fixture(scope="module")
def finished(make, reviews, tmp_path_factory):
    """The checkpoint of a run that came to its end, and its model."""
    folder = tmp_path_factory.mktemp("finished")
    return folder, make().fit(reviews.texts, reviews.labels, checkpoint=folder)


@pytest.fixture
def checkpoint(finished, tmp_path):
    """The same in a folder of the test's own, to damage."""
    return shutil.copytree(finished[0], tmp_path / "checkpoint")


@pytest.mark.parametrize("other", ["settings", "seed", "texts", "labels", "encoder"])
def test_a_checkpoint_of_another_run_is_refused(make, reviews, encoder, checkpoint, other):
    class OtherEncoder(type(encoder)):  # type: ignore[misc]
        fingerprint = "hashing-2"

    texts, labels, clf = reviews.texts, reviews.labels, make()
    if other == "settings":
        clf = make(alpha=0.7)
    elif other == "seed":
        clf = make(random_state=1)
    elif other == "texts":
        texts = [*texts[:-1], "The view was something else."]
    elif other == "labels":
        labels = ["good", *labels[1:]]
    else:
        clf.set_params(encoder=OtherEncoder())
    with pytest.raises(CheckpointError, match=_OTHER):
        clf.fit(texts, labels, checkpoint=checkpoint, resume=True)


@pytest.mark.parametrize("stage", ["train", "retrain"])
def test_a_damaged_checkpoint_is_named(make, reviews, checkpoint, stage):
    (file,) = checkpoint.glob(f"{stage}.*")
    content = file.read_bytes()
    for damaged in (b"", content[:7], content[:100], content[:-1], b"\xff" * 200, b"{}" + content):
        file.write_bytes(damaged)
        with pytest.raises(CheckpointError, match=file.name):
            make().fit(reviews.texts, reviews.labels, checkpoint=checkpoint, resume=True)


def test_without_resume_an_old_checkpoint_goes_and_the_users_files_stay(make, reviews, checkpoint):
    mine = [checkpoint / "notes.txt", checkpoint / "model.safetensors"]
    for path in mine:
        path.write_text("keep me")
    first = make(epochs=1).fit(reviews.texts, reviews.labels)
    second = make(epochs=1).fit(reviews.texts, reviews.labels, checkpoint=checkpoint)
    assert torch.equal(first.model_.network.members, second.model_.network.members)
    assert [path.read_text() for path in mine] == ["keep me"] * 2


def test_resuming_a_finished_run_or_none_is_a_whole_run(
    make, reviews, finished, checkpoint, tmp_path
):
    for folder in (checkpoint, tmp_path / "new"):
        again = make().fit(reviews.texts, reviews.labels, checkpoint=folder, resume=True)
        assert not different_tensors(again, finished[1])
    with pytest.raises(InputError, match="resume=True needs checkpoint"):
        make().fit(reviews.texts, reviews.labels, resume=True)
