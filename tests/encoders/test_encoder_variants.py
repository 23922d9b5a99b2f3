"""The faster forms of an encoder, the models made with them, and the list of encoders."""

import copy
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone

from protorynet import ProtoryNetClassifier
from protorynet.encoders import (
    choose_encoder,
    encoder_variants,
    load_encoder,
    suit_machine,
)
from protorynet.errors import EncoderError, InputError
from protorynet.explain import choose_judge, tfidf_judge
from protorynet.model import EncoderRecord
from protorynet.training import tunable_encoder

TEXTS = ["the room was clean", "we left", "the staff was rude and the room was dirty", "a", ""]
quiet = pytest.mark.filterwarnings("ignore:this processor has no")


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("PROTORYNET_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def flags(monkeypatch, tmp_path):
    """Make the processor have some instructions only."""

    def pretend(told: str) -> None:
        (tmp_path / "cpuinfo").write_text(f"processor\t: 0\nflags\t\t: fpu {told} sse\n")
        monkeypatch.setattr(encoder_variants, "CPU_DESCRIPTION", tmp_path / "cpuinfo")
        monkeypatch.setattr(encoder_variants, "_survives_bfloat16", lambda: True)

    encoder_variants.is_bfloat16_safe.cache_clear()
    yield pretend
    encoder_variants.is_bfloat16_safe.cache_clear()


@pytest.fixture
def deadly_amx(flags, monkeypatch):
    """Make the processor name instructions that end the process."""
    survives = encoder_variants._survives_bfloat16
    flags("amx_bf16")
    monkeypatch.setattr(encoder_variants, "_survives_bfloat16", survives)
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "")
    kill = signal.SIGILL
    monkeypatch.setattr(torch.nn.functional, "linear", lambda *_: os.kill(os.getpid(), kill))


@quiet
@pytest.mark.parametrize(("variant", "least"), [("bf16", 0.999), ("int8", 0.98)])
def test_a_variant_of_a_folder_is_nearly_the_same_encoder(variant, least, make_folder):
    folder = make_folder()
    plain: Any = load_encoder(str(folder), device="cpu")
    other: Any = load_encoder(f"{folder}:{variant}")
    left, right = plain.encode(TEXTS), other.encode(TEXTS)
    cosines = (left * right).sum(1) / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1)
    assert cosines.min() > least
    assert other.name == f"{plain.name}:{variant}"
    assert load_encoder(other.name).fingerprint == other.fingerprint != plain.fingerprint
    assert (plain.window, plain.dimension) == (other.window, other.dimension)
    assert plain.count_tokens(TEXTS).tolist() == other.count_tokens(TEXTS).tolist()
    with pytest.raises(InputError, match="encoder_training='full' needs"):
        tunable_encoder(other)


@quiet
@pytest.mark.parametrize(("form", "most"), [("", 1e-6), (":bf16", 0.0), (":int8", 1e-6)])
def test_a_sentence_has_the_same_vector_in_any_company(form, most):
    if form == ":bf16" and choose_encoder("cpu").name != "minilm:bf16":
        most = 0.01  # what a processor without the instructions computes is not exact
    if form == ":bf16" and "amx_bf16" in encoder_variants._processor_flags():
        most = 0.002  # there the order of adding depends on the number of rows
    encoder = load_encoder(f"minilm{form}", device="cpu")
    texts = [f"The room was {'very ' * (n % 9)}clean, all {n} of us said." for n in range(48)]
    alone = np.concatenate([encoder.encode([text]) for text in texts[:16]])
    assert np.abs(alone - encoder.encode(texts[::-1])[::-1][:16]).max() <= most


def change_a_weight(path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    model = onnx.load_from_string(path.read_bytes())
    model.graph.initializer[0].raw_data = bytes(len(model.graph.initializer[0].raw_data))
    path.write_bytes(model.SerializeToString())


@pytest.mark.parametrize(
    "damage",
    [
        change_a_weight,
        lambda path: path.write_bytes(b"nonsense"),
        lambda path: path.with_name(f"{path.name}.sha256").unlink(),
    ],
)
def test_the_graph_in_8_bits_is_made_once_and_again_where_it_is_damaged(damage, make_folder):
    first: Any = load_encoder(f"{make_folder()}:int8")
    graph, written = first.source.read_bytes(), first.source.stat().st_mtime_ns
    assert load_encoder(first.name).source.stat().st_mtime_ns == written  # type: ignore[attr-defined]
    damage(first.source)
    load_encoder(first.name)
    assert first.source.read_bytes() == graph
    assert first.source.with_name(f"{first.source.name}.sha256").exists()


@pytest.mark.parametrize(
    ("variant", "told"), [("bf16", "no bfloat16 instructions"), ("int8", "less exact")]
)
def test_a_variant_warns_where_its_instructions_are_missing(variant, told, make_folder, flags):
    flags("avx2")
    with pytest.warns(RuntimeWarning, match=told):
        load_encoder(f"{make_folder()}:{variant}", device="cpu")


@pytest.mark.parametrize(
    ("told", "name"),
    [
        ("avx512_bf16 avx512_vnni", "minilm:bf16"),
        ("amx_bf16", "minilm:bf16"),
        ("avx512_vnni", "minilm"),
    ],
)
def test_auto_follows_from_the_instructions_and_explains_itself(told, name, flags):
    flags(told)
    choice = choose_encoder("cpu")
    assert choice.name == load_encoder("auto", device="cpu").name == name
    assert "bfloat16" in choice.reason


@pytest.mark.usefixtures("deadly_amx")
def test_auto_does_without_instructions_that_would_end_the_process():
    assert choose_encoder("cpu").name == "minilm"
    assert suit_machine("minilm:bf16", "cpu") == "minilm"


@pytest.mark.usefixtures("deadly_amx")
def test_bfloat16_that_would_end_the_process_is_refused(make_folder):
    with pytest.raises(EncoderError, match="AMX instructions that it does not run"):
        load_encoder(f"{make_folder()}:bf16", device="cpu")


def test_auto_does_without_what_is_not_known(monkeypatch, tmp_path):
    monkeypatch.setattr(encoder_variants, "CPU_DESCRIPTION", tmp_path / "absent")
    assert "Linux only" in choose_encoder("cpu").reason


@pytest.mark.parametrize(("told", "form"), [("avx2", "minilm"), ("amx_bf16", "minilm:bf16")])
def test_a_model_made_in_bfloat16_is_read_in_float32_where_that_is_faster(told, form, flags):
    flags(told)
    assert suit_machine("minilm:bf16", "cpu") == form
    assert suit_machine("minilm:int8", "cpu") == "minilm:int8"


@quiet
@pytest.mark.parametrize("variant", ["bf16", "int8", "static"])
def test_a_model_and_copies_stay_with_the_form_of_the_encoder_they_were_made_with(
    variant, tiny_bert_folder, reviews, unseen_reviews, quick, tmp_path, flags
):
    flags("amx_bf16 avx512_vnni")
    name = f"{tiny_bert_folder}:{variant}"
    fitted = ProtoryNetClassifier(name, settings=quick, device="cpu")
    fitted.fit(reviews.texts, reviews.labels).save(tmp_path / "model")
    loaded = ProtoryNetClassifier.load(tmp_path / "model", device="cpu")
    assert loaded.model_.encoder.name == name
    encoder = fitted.encoder_
    for other in (clone(ProtoryNetClassifier(encoder)).encoder, copy.deepcopy(encoder)):
        assert other.fingerprint == encoder.fingerprint
        assert np.array_equal(other.encode(["the room"]), encoder.encode(["the room"]))
    expected = fitted.predict_proba(unseen_reviews.texts)
    np.testing.assert_allclose(loaded.predict_proba(unseen_reviews.texts), expected, atol=1e-6)
    other = (
        pytest.raises(EncoderError, match="made with another encoder")
        if variant == "static"
        else pytest.warns(RuntimeWarning, match="a few labels in a thousand may differ")
    )
    with other:
        ProtoryNetClassifier.load(tmp_path / "model", encoder=str(tiny_bert_folder), device="cpu")


@pytest.mark.parametrize("variant", ["", ":bf16", ":int8", ":static"])
def test_minilm_does_not_judge_models_made_with_a_form_of_itself(variant):
    judge, _ = choose_judge(EncoderRecord(f"minilm{variant}", "0"), None, device="cpu")
    assert judge is tfidf_judge
