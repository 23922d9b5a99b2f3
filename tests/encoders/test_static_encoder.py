"""The static encoder: distilled, kept, and the same whatever stands beside a sentence."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st

from protorynet.encoders import (
    EmbeddingCache,
    TransformerEncoder,
    WindowedEncoder,
    encode_corpus,
    load_encoder,
)
from protorynet.encoders.encoder_variants import make_static

SENTENCES = ["the room was clean", "rude staff", "we left", "the the the abc cab"]


def tiny(folder: Path) -> TransformerEncoder:
    return TransformerEncoder(folder, name="tiny", device="cpu")


@pytest.fixture(scope="module")
def teacher(tiny_bert):
    return tiny(tiny_bert)


@pytest.fixture(scope="module")
def static(teacher):
    return make_static(teacher)


def slow_vectors(teacher: TransformerEncoder, dimension: int) -> dict[int, Any]:
    """Distil token by token, with a singular value decomposition."""
    inputs: Any = teacher.network.backbone.get_input_embeddings().weight.detach().numpy()
    ids = list(range(4, len(inputs)))
    texts = [torch.tensor([[2, token, 3]]) for token in ids]
    with torch.inference_mode():
        alone = [teacher.network(each, torch.ones_like(each))[0].numpy() for each in texts]
    parts = [np.array(part, dtype=np.float64) for part in (alone, inputs[ids])]
    parts = [part - part.mean(axis=0) for part in parts]
    described = np.hstack([part / part.std() for part in parts])
    _, _, axes = np.linalg.svd(described, full_matrices=False)
    axes = np.array([axis * np.sign(axis[np.abs(axis).argmax()]) for axis in axes[:dimension]])
    return {
        token: np.log(1 + token) * (axes @ each) for token, each in zip(ids, described, strict=True)
    }


@pytest.mark.parametrize("dimension", [3, 12])
def test_it_equals_the_slow_and_obvious_way(teacher, dimension, monkeypatch):
    monkeypatch.setattr("protorynet.encoders.encoder_variants.MOST_COMPONENTS", dimension)
    encoder = make_static(teacher)
    vectors = slow_vectors(teacher, dimension)
    for sentence, each in zip(SENTENCES, encoder.encode(SENTENCES), strict=True):
        expected = sum(vectors[token] for token in teacher.tokenize([sentence])[0][1:-1])
        np.testing.assert_allclose(each, expected / np.linalg.norm(expected), atol=1e-4)


def test_it_reads_and_counts_like_its_teacher_under_its_own_fingerprint(static, teacher, tiny_bert):
    assert isinstance(static, WindowedEncoder)
    assert (static.name, static.window) == ("tiny:static", teacher.window)
    assert static.count_tokens(SENTENCES).tolist() == teacher.count_tokens(SENTENCES).tolist()
    # No more components are kept than there are.
    assert static.encode(SENTENCES).shape == (4, 32)
    assert static.encode([]).shape == (0, 32)
    full = "room " * (static.window - 2)
    beyond, inside = static.encode([full + "rude " * 50, full])
    assert np.array_equal(beyond, inside)
    changed = tiny(tiny_bert)
    with torch.no_grad():
        next(changed.network.parameters()).add_(0.1)
    others = [make_static(changed), teacher]
    assert len({static.fingerprint, *(other.fingerprint for other in others)}) == 3


@pytest.mark.parametrize("text", ["   ", "日本", "[CLS] [SEP]", "\ud800"])
def test_a_text_that_says_nothing_has_the_same_unit_vector(static, text):
    vectors = static.encode([text, ""])
    assert np.array_equal(vectors[0], vectors[1])
    assert np.linalg.norm(vectors[0]) == pytest.approx(1)
    unknown, known = static.encode(["the room zzz was clean", "the room was clean"])
    assert np.array_equal(unknown, known)


@given(texts=st.lists(st.text("abc the room.é\ud800\n", max_size=30), min_size=1, max_size=20))
def test_no_bit_depends_on_the_sentences_beside_it(static, texts):
    alone = np.concatenate([static.encode([text]) for text in texts])
    together = static.encode(texts * 60)
    assert np.array_equal(together, np.tile(alone, (60, 1)))
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)


def change_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("change", [None, change_a_bit, Path.unlink])
def test_distilling_is_paid_once_unless_the_result_is_damaged(
    change, tiny_bert, static, tmp_path, monkeypatch
):
    monkeypatch.setenv("PROTORYNET_CACHE", str(tmp_path))
    load_encoder(f"{tiny_bert}:static")
    (kept,) = (tmp_path / "static").rglob("vectors.safetensors")
    written, content = kept.stat().st_mtime_ns, kept.read_bytes()
    if change is not None:
        change(kept)
    again = load_encoder(f"{tiny_bert}:static")
    assert (kept.stat().st_mtime_ns == written) is (change is None)
    assert kept.read_bytes() == content
    assert np.array_equal(again.encode(SENTENCES), static.encode(SENTENCES))
    assert again.fingerprint == static.fingerprint
    cache, size = EmbeddingCache(), EmbeddingCache().size()
    # Its vectors are not kept, for making them is quicker.
    encode_corpus(again, [f"room {number}" for number in range(100)], cache=cache)
    assert cache.size() == size > len(content)
    (tmp_path / "file").write_text("a file where the folder should be")
    monkeypatch.setenv("PROTORYNET_CACHE", str(tmp_path / "file"))
    with pytest.warns(RuntimeWarning, match="made again next time"):
        load_encoder(f"{tiny_bert}:static")
