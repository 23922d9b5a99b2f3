"""Checkpoints: a killed run goes on to the same model, and no wrong checkpoint is used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from protorynet import ProtoryNetClassifier, Settings
from protorynet.errors import CheckpointError, InputError
from protorynet.training import Checkpoint

_SAVE = Checkpoint.save


class Stopped(KeyboardInterrupt):
    """Ctrl-C at a chosen moment."""


def stop_after(patch: pytest.MonkeyPatch, saves: int) -> list[str]:
    """Interrupt training after so many epochs of any stage; return the list of stages saved."""
    stages: list[str] = []

    def save(self: Checkpoint, stage: str, tensors: Any, facts: Any) -> None:
        _SAVE(self, stage, tensors, facts)
        stages.append(stage)
        if len(stages) == saves:
            raise Stopped

    patch.setattr(Checkpoint, "save", save)
    return stages


def state(clf: ProtoryNetClassifier) -> dict[str, Tensor]:
    model = clf.model_
    found = dict(model.network.state_dict())
    if model.adapter is not None:
        found |= {f"adapter.{n}": v for n, v in model.adapter.state_dict().items()}
    if model.encoder.tuned:
        found |= {f"encoder.{n}": v for n, v in clf.encoder_.network.state_dict().items()}
    return found


def first_and_last(stages: list[str]) -> list[int]:
    """Return after how many saves each stage has kept its first epoch, and its last."""
    places = {stage: [n for n, s in enumerate(stages, start=1) if s == stage] for stage in stages}
    return sorted({n for found in places.values() for n in (found[0], found[-1])})


def check_resuming(make: Any, reviews: Any, folder: Path) -> None:
    """Stop in every stage of a run, resume, and compare with the undisturbed run."""
    data = reviews.texts[:24], reviews.labels[:24]
    with pytest.MonkeyPatch.context() as patch:
        stages = stop_after(patch, -1)
        whole = make().fit(*data, checkpoint=folder / "whole")
    assert {"train", "retrain"} <= set(stages)
    assert any(stage.startswith("prune") for stage in stages)
    expected = state(whole)
    for saves in first_and_last(stages):
        checkpoint = folder / str(saves)
        with pytest.MonkeyPatch.context() as patch:
            stop_after(patch, saves)
            with pytest.raises(Stopped):
                make().fit(*data, checkpoint=checkpoint)
        torch.manual_seed(saves)  # another process would have other random numbers
        resumed = make().fit(*data, checkpoint=checkpoint, resume=True)
        found = state(resumed)
        assert expected.keys() == found.keys()
        different = [name for name in expected if not torch.equal(expected[name], found[name])]
        assert not different, f"stopped in {stages[saves - 1]}"
        assert resumed.prototypes_ == whole.prototypes_
        assert resumed.model_.training.curve == whole.model_.training.curve


@pytest.mark.parametrize("encoder_training", ["none", "adapter"])
def test_a_run_stopped_in_any_stage_resumes_to_the_same_model(
    reviews: Any, encoder: Any, quick: Settings, tmp_path: Path, encoder_training: str
) -> None:
    settings = quick.replace(
        encoder_training=encoder_training,
        epochs=3,
        project_every=2,
        max_prototypes=4,
        reader_layers=2,
        reader_dropout=0.3,
    )
    check_resuming(
        lambda: ProtoryNetClassifier(encoder, settings=settings, device="cpu", cache=False),
        reviews,
        tmp_path,
    )


def test_full_training_resumes_to_the_same_model(
    reviews: Any, tiny_bert_folder: Path, quick: Settings, tmp_path: Path
) -> None:
    settings = quick.replace(
        encoder_training="full",
        full_epochs=2,
        encoder_learning_rate=1e-3,
        full_batch_size=8,
        max_prototypes=3,
    )
    check_resuming(
        lambda: ProtoryNetClassifier(
            tiny_bert_folder, settings=settings, device="cpu", cache=False
        ),
        reviews,
        tmp_path,
    )


@pytest.fixture
def make(encoder: Any, quick: Settings) -> Any:
    def classifier(**changes: Any) -> ProtoryNetClassifier:
        seed = changes.pop("random_state", 0)
        return ProtoryNetClassifier(
            encoder,
            settings=quick.replace(**changes),
            random_state=seed,
            device="cpu",
            cache=False,
        )

    return classifier


@pytest.fixture
def checkpoint(make: Any, reviews: Any, tmp_path: Path) -> Path:
    folder = tmp_path / "checkpoint"
    make().fit(reviews.texts, reviews.labels, checkpoint=folder)
    return folder


def test_a_checkpoint_of_other_settings_is_refused(
    make: Any, reviews: Any, checkpoint: Path
) -> None:
    with pytest.raises(CheckpointError, match="other data, settings, seed or encoder"):
        make(alpha=0.7).fit(reviews.texts, reviews.labels, checkpoint=checkpoint, resume=True)


def test_a_checkpoint_of_another_seed_is_refused(make: Any, reviews: Any, checkpoint: Path) -> None:
    clf = make(random_state=1)
    with pytest.raises(CheckpointError, match="other data, settings, seed or encoder"):
        clf.fit(reviews.texts, reviews.labels, checkpoint=checkpoint, resume=True)


def test_a_checkpoint_of_other_texts_is_refused(make: Any, reviews: Any, checkpoint: Path) -> None:
    texts = [*reviews.texts[:-1], "The view was something else."]
    with pytest.raises(CheckpointError, match="other data, settings, seed or encoder"):
        make().fit(texts, reviews.labels, checkpoint=checkpoint, resume=True)


def test_a_checkpoint_of_other_labels_is_refused(make: Any, reviews: Any, checkpoint: Path) -> None:
    labels = ["good", *reviews.labels[1:]]
    with pytest.raises(CheckpointError, match="other data, settings, seed or encoder"):
        make().fit(reviews.texts, labels, checkpoint=checkpoint, resume=True)


def test_a_checkpoint_of_another_encoder_is_refused(
    make: Any, reviews: Any, encoder: Any, checkpoint: Path
) -> None:
    class Other(type(encoder)):
        fingerprint = "hashing-2"

    clf = make().set_params(encoder=Other())
    with pytest.raises(CheckpointError, match="other data, settings, seed or encoder"):
        clf.fit(reviews.texts, reviews.labels, checkpoint=checkpoint, resume=True)


def test_a_checkpoint_of_other_vectors_is_refused(quick: Settings, tmp_path: Path) -> None:
    vectors = np.random.default_rng(0).normal(size=(8, 2, 3))
    clf = ProtoryNetClassifier("precomputed", settings=quick, device="cpu")
    clf.fit(vectors, [0, 1] * 4, checkpoint=tmp_path)
    with pytest.raises(CheckpointError, match="other data, settings, seed or encoder"):
        clf.fit(vectors + 1, [0, 1] * 4, checkpoint=tmp_path, resume=True)


@pytest.mark.parametrize("stage", ["train", "retrain"])
def test_a_damaged_checkpoint_is_named(
    make: Any, reviews: Any, checkpoint: Path, stage: str
) -> None:
    (file,) = checkpoint.glob(f"{stage}.*")
    content = file.read_bytes()
    for damaged in (b"", content[:7], content[:100], content[:-1], b"\xff" * 200, b"{}" + content):
        file.write_bytes(damaged)
        with pytest.raises(CheckpointError, match=file.name):
            make().fit(reviews.texts, reviews.labels, checkpoint=checkpoint, resume=True)


def test_a_checkpoint_edited_by_hand_is_refused(tmp_path: Path) -> None:
    from safetensors.torch import save

    checkpoint = Checkpoint(tmp_path, "run")
    checkpoint.save("train", {"now.weight": torch.zeros(2)}, {"epoch": 1})
    (file,) = tmp_path.iterdir()
    for metadata in (None, {}, {"run": "run"}, {"run": "run", "facts": "{"}, {"facts": "{}"}):
        file.write_bytes(save({"now.weight": torch.zeros(2)}, metadata))
        with pytest.raises(CheckpointError):
            checkpoint.load("train")


def test_without_resume_an_old_checkpoint_is_forgotten(
    make: Any, reviews: Any, checkpoint: Path
) -> None:
    first = make(epochs=1).fit(reviews.texts, reviews.labels)
    second = make(epochs=1).fit(reviews.texts, reviews.labels, checkpoint=checkpoint)
    assert torch.equal(first.model_.network.prototypes, second.model_.network.prototypes)


def test_forgetting_a_checkpoint_leaves_the_users_files_alone(
    make: Any, reviews: Any, checkpoint: Path
) -> None:
    mine = checkpoint / "notes.txt"
    mine.write_text("keep me")
    weights = checkpoint / "model.safetensors"
    weights.write_text("keep me too")
    make(epochs=1).fit(reviews.texts, reviews.labels, checkpoint=checkpoint)
    assert mine.read_text() == "keep me"
    assert weights.read_text() == "keep me too"


def test_resuming_a_finished_run_gives_its_model_again(
    make: Any, reviews: Any, checkpoint: Path
) -> None:
    whole = make().fit(reviews.texts, reviews.labels)
    again = make().fit(reviews.texts, reviews.labels, checkpoint=checkpoint, resume=True)
    assert all(torch.equal(state(whole)[name], state(again)[name]) for name in state(whole))


def test_resuming_where_nothing_was_kept_starts_anew(
    make: Any, reviews: Any, tmp_path: Path
) -> None:
    clf = make().fit(reviews.texts, reviews.labels, checkpoint=tmp_path / "new", resume=True)
    assert len(clf.prototypes_) > 0


def test_resuming_needs_a_folder(make: Any, reviews: Any) -> None:
    with pytest.raises(InputError, match="resume=True needs checkpoint"):
        make().fit(reviews.texts, reviews.labels, resume=True)
