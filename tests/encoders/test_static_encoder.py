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
)
from protorynet.encoders.static_cache import cached_static, static_encoder
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


def test_it_meets_the_protocol(static: StaticEncoder) -> None:
    assert isinstance(static, WindowedEncoder)


def test_it_reads_and_counts_like_its_teacher(
    static: StaticEncoder, teacher: TransformerEncoder
) -> None:
    assert static.window == teacher.window
    assert static.count_tokens(SENTENCES).tolist() == teacher.count_tokens(SENTENCES).tolist()


def test_it_is_named_after_its_teacher(static: StaticEncoder) -> None:
    assert static.name == "tiny:static"


def test_no_more_components_are_kept_than_there_are(static: StaticEncoder) -> None:
    assert static.dimension == 32
    assert static.encode(SENTENCES).shape == (4, 32)


def test_no_sentence_gives_no_row(static: StaticEncoder) -> None:
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


def test_distilling_twice_gives_the_same_bits(
    static: StaticEncoder, teacher: TransformerEncoder
) -> None:
    again = StaticEncoder.distil(teacher)
    assert np.array_equal(again.encode(SENTENCES), static.encode(SENTENCES))
    assert again.fingerprint == static.fingerprint


def test_the_fingerprint_tells_teacher_and_dimension_apart(
    static: StaticEncoder, teacher: TransformerEncoder, tiny_bert: Path
) -> None:
    import torch

    changed = TransformerEncoder(tiny_bert, name="tiny", device="cpu")
    with torch.no_grad():
        next(changed.network.parameters()).add_(0.1)
    fingerprints = {
        teacher.fingerprint,
        static.fingerprint,
        StaticEncoder.distil(teacher, dimension=3).fingerprint,
        StaticEncoder.distil(changed).fingerprint,
    }
    assert len(fingerprints) == 4


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


@pytest.mark.parametrize("file", ["vectors.safetensors", "tokenizer.json"])
def test_a_damaged_folder_is_refused(static: StaticEncoder, tmp_path: Path, file: str) -> None:
    static.save(tmp_path / "saved")
    damage(tmp_path / "saved", file)
    with pytest.raises(EncoderError, match=f"the sha256 of {file} differs"):
        StaticEncoder.load(tmp_path / "saved", name="static")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"sha256": {}}', '{"sha256": 3}'])
def test_a_damaged_description_is_refused(
    static: StaticEncoder, tmp_path: Path, content: str
) -> None:
    static.save(tmp_path / "saved")
    (tmp_path / "saved" / "static.json").write_text(content)
    with pytest.raises(EncoderError):
        StaticEncoder.load(tmp_path / "saved", name="static")


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match=r"lacks static\.json"):
        StaticEncoder.load(tmp_path / "nowhere", name="static")


def test_vectors_of_another_vocabulary_are_refused(static: StaticEncoder, tmp_path: Path) -> None:
    short = StaticEncoder(
        np.ones((3, 2), dtype=np.float32), static.tokenizer, name="short", fingerprint="short"
    )
    short.save(tmp_path / "saved")
    with pytest.raises(EncoderError, match="do not belong to the tokenizer"):
        StaticEncoder.load(tmp_path / "saved", name="short")


def test_a_tokenizer_that_fails_when_used_is_refused(static: StaticEncoder, tmp_path: Path) -> None:
    static.save(tmp_path / "static")
    path, description = (tmp_path / "static" / f"{name}.json" for name in ("tokenizer", "static"))
    content = json.loads(path.read_text())
    content["post_processor"]["special_tokens"].pop("[SEP]")
    path.write_text(json.dumps(content))
    facts = json.loads(description.read_text())
    facts["sha256"]["tokenizer.json"] = hashlib.sha256(path.read_bytes()).hexdigest()
    description.write_text(json.dumps(facts))
    with pytest.raises(EncoderError, match="no entry found for key"):
        StaticEncoder.load(tmp_path / "static", name="static")


def test_nothing_is_cached_at_first(teacher: TransformerEncoder, tmp_path: Path) -> None:
    assert cached_static(teacher.fingerprint, name="static", cache_folder=tmp_path) is None


def test_distilling_is_paid_once(teacher: TransformerEncoder, tmp_path: Path) -> None:
    made = static_encoder(teacher, name="tiny:static", cache_folder=tmp_path)
    (folder,) = (tmp_path / "static").iterdir()
    before = folder.stat()
    found = static_encoder(teacher, name="tiny:static", cache_folder=tmp_path)
    assert np.array_equal(found.encode(SENTENCES), made.encode(SENTENCES))
    assert folder.stat().st_ino == before.st_ino


def test_the_cache_lies_with_the_embeddings(
    teacher: TransformerEncoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROTORYNET_CACHE", str(tmp_path))
    static_encoder(teacher, name="tiny:static")
    assert cached_static(teacher.fingerprint, name="tiny:static", cache_folder=tmp_path) is not None


def test_a_damaged_cache_is_distilled_anew(teacher: TransformerEncoder, tmp_path: Path) -> None:
    made = static_encoder(teacher, name="static", cache_folder=tmp_path)
    (folder,) = (tmp_path / "static").iterdir()
    damage(folder, "vectors.safetensors")
    assert cached_static(teacher.fingerprint, name="static", cache_folder=tmp_path) is None
    static_encoder(teacher, name="static", cache_folder=tmp_path)
    mended = cached_static(teacher.fingerprint, name="static", cache_folder=tmp_path)
    assert mended is not None
    assert np.array_equal(mended.encode(SENTENCES), made.encode(SENTENCES))


def test_an_encoder_in_the_place_of_another_is_not_taken(
    teacher: TransformerEncoder, tmp_path: Path
) -> None:
    static_encoder(teacher, name="static", cache_folder=tmp_path)
    (folder,) = (tmp_path / "static").iterdir()
    description = json.loads((folder / "static.json").read_text())
    (folder / "static.json").write_text(json.dumps(description | {"fingerprint": "other"}))
    assert cached_static(teacher.fingerprint, name="static", cache_folder=tmp_path) is None


def test_a_cache_that_cannot_be_written_only_warns(
    teacher: TransformerEncoder, tmp_path: Path
) -> None:
    (tmp_path / "static").write_text("a file where the folder should be")
    with pytest.warns(RuntimeWarning, match="distilled anew next time"):
        encoder = static_encoder(teacher, name="static", cache_folder=tmp_path)
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
        "from protorynet.encoders.static import StaticEncoder\n"
        f"encoder = StaticEncoder.load(Path({str(tmp_path / 'saved')!r}), name='static')\n"
        "assert encoder.encode(['the room']).shape == (1, 32)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
