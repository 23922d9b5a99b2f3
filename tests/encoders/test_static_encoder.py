"""The static encoder: distilled, kept, and the same whatever stands beside a sentence."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from protorynet.encoders import (
    EmbeddingCache,
    StaticEncoder,
    TransformerEncoder,
    WindowedEncoder,
    encode_corpus,
    load_encoder,
)
from protorynet.errors import EncoderError, InputError

SENTENCES = ["the room was clean", "rude staff", "we left", "the the the abc cab"]


@pytest.fixture(scope="module")
def teacher(tiny_bert: Path) -> TransformerEncoder:
    return TransformerEncoder(tiny_bert, name="tiny", device="cpu")


@pytest.fixture(scope="module")
def static(teacher: TransformerEncoder) -> StaticEncoder:
    return StaticEncoder.distil(teacher)


def slow_vectors(teacher: TransformerEncoder, dimension: int) -> dict[int, Any]:
    """Distil token by token, with a singular value decomposition."""
    import torch

    inputs = teacher.network.backbone.get_input_embeddings().weight.detach().numpy()
    ids = list(range(4, len(inputs)))
    alone = []
    with torch.inference_mode():
        for token in ids:
            row = torch.tensor([[2, token, 3]])
            alone.append(teacher.network(row, torch.ones_like(row))[0].numpy())
    parts = [np.array(part, dtype=np.float64) for part in (alone, inputs[ids])]
    parts = [part - part.mean(axis=0) for part in parts]
    described = np.hstack([part / part.std() for part in parts])
    _, _, axes = np.linalg.svd(described, full_matrices=False)
    axes = axes[:dimension]
    axes = np.array([axis * np.sign(axis[np.abs(axis).argmax()]) for axis in axes])
    weights = [np.log(1 + token) for token in ids]
    return {
        token: weight * (axes @ row)
        for token, weight, row in zip(ids, weights, described, strict=True)
    }


@pytest.mark.parametrize("dimension", [3, 12])
def test_it_equals_the_slow_and_obvious_way(teacher: TransformerEncoder, dimension: int) -> None:
    encoder = StaticEncoder.distil(teacher, dimension=dimension)
    vectors = slow_vectors(teacher, dimension)
    for sentence, row in zip(SENTENCES, encoder.encode(SENTENCES), strict=True):
        expected = sum(vectors[token] for token in teacher.tokenize([sentence])[0][1:-1])
        np.testing.assert_allclose(row, expected / np.linalg.norm(expected), atol=1e-4)


def test_it_reads_and_counts_like_its_teacher(
    static: StaticEncoder, teacher: TransformerEncoder
) -> None:
    assert isinstance(static, WindowedEncoder)
    assert (static.name, static.window) == ("tiny:static", teacher.window)
    assert static.count_tokens(SENTENCES).tolist() == teacher.count_tokens(SENTENCES).tolist()
    # No more components are kept than there are.
    assert static.dimension == 32
    assert static.encode(SENTENCES).shape == (4, 32)
    assert static.encode([]).shape == (0, 32)


def test_text_beyond_the_window_is_not_read(static: StaticEncoder) -> None:
    full = "room " * (static.window - 2)
    vectors = static.encode([full + "rude " * 50, full])
    assert np.array_equal(vectors[0], vectors[1])


@pytest.mark.parametrize("text", ["", "   ", "日本", "[CLS] [SEP]", "\ud800"])
def test_a_text_that_says_nothing_has_the_same_unit_vector(
    static: StaticEncoder, text: str
) -> None:
    vectors = static.encode([text, ""])
    assert np.array_equal(vectors[0], vectors[1])
    assert np.linalg.norm(vectors[0]) == pytest.approx(1)


def test_an_unknown_word_changes_nothing(static: StaticEncoder) -> None:
    vectors = static.encode(["the room zzz was clean", "the room was clean"])
    assert np.array_equal(vectors[0], vectors[1])


@settings(max_examples=50, deadline=None)
@given(texts=st.lists(st.text("abc the room.é\ud800\n", max_size=30), min_size=1, max_size=20))
def test_no_bit_depends_on_the_sentences_beside_it(static: StaticEncoder, texts: list[str]) -> None:
    together = static.encode(texts)
    alone = np.concatenate([static.encode([text]) for text in texts])
    assert np.array_equal(together, alone)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)


def test_many_sentences_are_read_in_parts(static: StaticEncoder) -> None:
    texts = SENTENCES * 600
    assert np.array_equal(static.encode(texts), np.tile(static.encode(SENTENCES), (600, 1)))


def test_the_fingerprint_tells_teacher_and_dimension_apart(
    static: StaticEncoder, teacher: TransformerEncoder, tiny_bert: Path
) -> None:
    import torch

    changed = TransformerEncoder(tiny_bert, name="tiny", device="cpu")
    with torch.no_grad():
        next(changed.network.parameters()).add_(0.1)
    others = {
        teacher.fingerprint,
        StaticEncoder.distil(teacher, dimension=3).fingerprint,
        StaticEncoder.distil(changed).fingerprint,
    }
    assert len(others - {static.fingerprint}) == 3
    assert StaticEncoder.distil(teacher).fingerprint == static.fingerprint


def test_a_teacher_in_training_stays_in_training(tiny_bert: Path) -> None:
    teacher = TransformerEncoder(tiny_bert, name="tiny", device="cpu")
    expected = StaticEncoder.distil(teacher).encode(SENTENCES)
    teacher.network.train()
    assert np.array_equal(StaticEncoder.distil(teacher).encode(SENTENCES), expected)
    assert teacher.network.training


def test_no_dimension_is_refused(teacher: TransformerEncoder) -> None:
    with pytest.raises(InputError, match="dimension=0 should be at least 1"):
        StaticEncoder.distil(teacher, dimension=0)


def test_a_lower_casing_folder_stays_lower_casing(
    make_folder: Callable[..., Path], tmp_path: Path
) -> None:
    folder = make_folder(sentence_bert_config={"do_lower_case": True})
    made = StaticEncoder.distil(TransformerEncoder(folder, name="lower", device="cpu"))
    made.save(tmp_path / "saved")
    loaded = StaticEncoder.load(tmp_path / "saved", name="lower")
    assert np.array_equal(loaded.encode(["RUDE Staff"]), made.encode(["rude staff"]))


def test_special_tokens_may_come_last(make_folder: Callable[..., Path], tmp_path: Path) -> None:
    folder = make_folder()
    content = json.loads((folder / "tokenizer.json").read_text())
    vocabulary = content["model"]["vocab"]
    last = max(vocabulary, key=vocabulary.__getitem__)
    vocabulary[last], vocabulary["[SEP]"] = vocabulary["[SEP]"], vocabulary[last]
    content["post_processor"]["special_tokens"]["[SEP]"]["ids"] = [vocabulary["[SEP]"]]
    (folder / "tokenizer.json").write_text(json.dumps(content))
    made = StaticEncoder.distil(TransformerEncoder(folder, name="last", device="cpu"))
    made.save(tmp_path / "saved")
    loaded = StaticEncoder.load(tmp_path / "saved", name="last")
    assert np.isfinite(loaded.encode(SENTENCES)).all()


def test_what_was_saved_is_loaded_bit_by_bit(static: StaticEncoder, tmp_path: Path) -> None:
    static.save(tmp_path / "saved")
    loaded = StaticEncoder.load(tmp_path / "saved", name="again")
    assert np.array_equal(loaded.encode([*SENTENCES, ""]), static.encode([*SENTENCES, ""]))
    assert (loaded.name, loaded.fingerprint) == ("again", static.fingerprint)
    assert (loaded.window, loaded.dimension) == (static.window, static.dimension)


def damage(folder: Path, file: str) -> None:
    content = bytearray((folder / file).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / file).write_bytes(content)


def use_other_vectors(folder: Path) -> None:
    from safetensors.numpy import save_file

    save_file({"vectors": np.ones((3, 2), np.float32)}, folder / "vectors.safetensors")
    renew_digest(folder, "vectors.safetensors")


def forget_a_special_token(folder: Path) -> None:
    content = json.loads((folder / "tokenizer.json").read_text())
    content["post_processor"]["special_tokens"].pop("[SEP]")
    (folder / "tokenizer.json").write_text(json.dumps(content))
    renew_digest(folder, "tokenizer.json")


def renew_digest(folder: Path, file: str) -> None:
    facts = json.loads((folder / "static.json").read_text())
    facts["sha256"][file] = hashlib.sha256((folder / file).read_bytes()).hexdigest()
    (folder / "static.json").write_text(json.dumps(facts))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda folder: damage(folder, "vectors.safetensors"), "vectors.safetensors differs"),
        (lambda folder: damage(folder, "tokenizer.json"), "sha256 of tokenizer.json differs"),
        (use_other_vectors, "do not belong to the tokenizer"),
        (forget_a_special_token, "no entry found for key"),
        *(
            (lambda folder, text=text: (folder / "static.json").write_text(text), "static")
            for text in ("", "[]", "{}", '{"sha256": {}}', '{"sha256": 3}')
        ),
        (lambda folder: (folder / "static.json").unlink(), "lacks static.json"),
    ],
)
def test_a_damaged_folder_is_refused(
    change: Callable[[Path], Any], reason: str, static: StaticEncoder, tmp_path: Path
) -> None:
    static.save(tmp_path / "saved")
    change(tmp_path / "saved")
    with pytest.raises(EncoderError) as caught:
        StaticEncoder.load(tmp_path / "saved", name="static")
    assert reason in str(caught.value)


def misname(folder: Path) -> None:
    description = json.loads((folder / "static.json").read_text())
    (folder / "static.json").write_text(json.dumps(description | {"fingerprint": "other"}))


@pytest.mark.parametrize("change", [None, misname, lambda f: damage(f, "vectors.safetensors")])
def test_distilling_is_paid_once_and_again_where_what_was_kept_is_of_no_use(
    change: Callable[[Path], Any] | None,
    tiny_bert: Path,
    static: StaticEncoder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PROTORYNET_CACHE", str(tmp_path))
    name = f"{tiny_bert}:static"
    load_encoder(name)
    (folder,) = (tmp_path / "static").iterdir()
    before = folder.stat().st_ino
    if change is not None:
        change(folder)
    again = load_encoder(name)
    assert (folder.stat().st_ino == before) is (change is None)
    assert np.array_equal(again.encode(SENTENCES), static.encode(SENTENCES))
    assert again.fingerprint == static.fingerprint


def test_a_cache_that_cannot_be_written_only_warns(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROTORYNET_CACHE", str(tmp_path))
    (tmp_path / "static").write_text("a file where the folder should be")
    with pytest.warns(RuntimeWarning, match="distilled again next time"):
        encoder = load_encoder(f"{tiny_bert}:static")
    assert encoder.encode(SENTENCES).shape == (4, 32)


def test_its_vectors_are_not_kept_for_making_them_is_quicker(
    static: StaticEncoder, tmp_path: Path
) -> None:
    cache = EmbeddingCache(tmp_path / "cache")
    texts = [f"room {number}" for number in range(100)]
    vectors = encode_corpus(static, texts, cache=cache).vectors
    assert np.array_equal(vectors, static.encode(texts))
    assert cache.size() == 0


def test_a_distilled_encoder_needs_no_torch(static: StaticEncoder, tmp_path: Path) -> None:
    static.save(tmp_path / "saved")
    code = (
        "import sys; sys.modules['torch'] = None; from pathlib import Path\n"
        "from protorynet.encoders import StaticEncoder\n"
        f"encoder = StaticEncoder.load(Path({str(tmp_path / 'saved')!r}), name='static')\n"
        "assert encoder.encode(['the room']).shape == (1, 32)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
