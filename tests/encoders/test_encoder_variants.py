from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from protorynet.encoders import (
    TransformerEncoder,
    choose_encoder,
    list_encoders,
    load_encoder,
    processor,
    registry,
    split_variant,
    variants,
)
from protorynet.encoders.speed import SENTENCES, sentences_per_second
from protorynet.errors import EncoderError, InputError
from protorynet.training import tunable_encoder

TEXTS = ["the room was clean", "we left", "the staff was rude and the room was dirty", "a", ""]


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PROTORYNET_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def flags(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """Make the processor have some instructions only."""

    def pretend(told: str) -> None:
        (tmp_path / "cpuinfo").write_text(f"processor\t: 0\nflags\t\t: fpu {told} sse\n")
        monkeypatch.setattr(processor, "_CPUINFO", tmp_path / "cpuinfo")
        processor._flags.cache_clear()

    return pretend


@pytest.fixture(autouse=True)
def _forget_flags() -> Any:
    yield
    processor._flags.cache_clear()


def alike(left: np.ndarray, right: np.ndarray) -> float:
    cosines = (left * right).sum(1) / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1)
    return float(cosines.min())


@pytest.mark.parametrize(
    ("spec", "parts"),
    [
        ("minilm:bf16", ("minilm", "bf16")),
        ("a/b:int8", ("a/b", "int8")),
        ("minilm", ("minilm", None)),
        ("minilm:fp8", ("minilm:fp8", None)),
        (":bf16", (":bf16", None)),
    ],
)
def test_a_suffix_names_the_variant(spec: str, parts: tuple[str, str | None]) -> None:
    assert split_variant(spec) == parts


@pytest.mark.filterwarnings("ignore:this processor has no")
@pytest.mark.parametrize(("variant", "least"), [("bf16", 0.999), ("int8", 0.98)])
class TestVariantOfAFolder:
    def make(self, make_folder: Callable[..., Path], variant: str) -> tuple[Any, Any]:
        folder = make_folder()
        return load_encoder(str(folder), device="cpu"), load_encoder(f"{folder}:{variant}")

    def test_gives_nearly_the_same_vectors(
        self, make_folder: Callable[..., Path], variant: str, least: float
    ) -> None:
        plain, other = self.make(make_folder, variant)
        assert alike(plain.encode(TEXTS), other.encode(TEXTS)) > least

    def test_has_its_own_name_and_fingerprint(
        self, make_folder: Callable[..., Path], variant: str, least: float
    ) -> None:
        plain, other = self.make(make_folder, variant)
        assert other.name == f"{plain.name}:{variant}"
        assert other.fingerprint != plain.fingerprint

    def test_has_the_same_fingerprint_when_loaded_again(
        self, make_folder: Callable[..., Path], variant: str, least: float
    ) -> None:
        _, first = self.make(make_folder, variant)
        assert load_encoder(first.name).fingerprint == first.fingerprint

    def test_reads_as_many_tokens(
        self, make_folder: Callable[..., Path], variant: str, least: float
    ) -> None:
        plain, other = self.make(make_folder, variant)
        assert (plain.window, plain.dimension) == (other.window, other.dimension)
        assert plain.count_tokens(TEXTS).tolist() == other.count_tokens(TEXTS).tolist()

    def test_cannot_be_trained(
        self, make_folder: Callable[..., Path], variant: str, least: float
    ) -> None:
        _, other = self.make(make_folder, variant)
        with pytest.raises(InputError, match="encoder_training='full' needs"):
            tunable_encoder(other)


@pytest.mark.filterwarnings("ignore:this processor has no")
@pytest.mark.parametrize(("variant", "most"), [("bf16", 0.0), ("int8", 1e-6)])
def test_a_sentence_has_the_same_vector_in_any_company(variant: str, most: float) -> None:
    if variant == "bf16" and not processor.has_bfloat16():
        most = 0.01  # what a processor without the instructions computes is not exact
    encoder = load_encoder(f"minilm:{variant}", device="cpu")
    alone = np.concatenate([encoder.encode([text]) for text in SENTENCES[:16]])
    together = encoder.encode(SENTENCES[::-1])[::-1][:16]
    assert np.abs(alone - together).max() <= most


def test_float32_vectors_do_not_depend_on_the_batch_either(minilm: TransformerEncoder) -> None:
    alone = np.concatenate([minilm.encode([text]) for text in SENTENCES[:16]])
    together = minilm.encode(SENTENCES)[:16]
    assert np.abs(alone - together).max() <= 1e-6


def test_the_graph_in_8_bits_is_made_once(make_folder: Callable[..., Path]) -> None:
    first = load_encoder(f"{make_folder()}:int8")
    written = first.source.stat().st_mtime_ns  # type: ignore[attr-defined]
    again = load_encoder(first.name)
    assert again.source.stat().st_mtime_ns == written  # type: ignore[attr-defined]


def test_a_damaged_graph_is_made_again(make_folder: Callable[..., Path]) -> None:
    first: Any = load_encoder(f"{make_folder()}:int8")
    first.source.write_bytes(b"nonsense")
    assert load_encoder(first.name).encode(TEXTS).shape == (len(TEXTS), 16)


def test_a_graph_that_still_opens_but_was_changed_is_made_again(
    make_folder: Callable[..., Path],
) -> None:
    onnx = pytest.importorskip("onnx")
    first: Any = load_encoder(f"{make_folder()}:int8")
    graph = first.source.read_bytes()
    weights = onnx.load_from_string(graph)
    weights.graph.initializer[0].raw_data = bytes(len(weights.graph.initializer[0].raw_data))
    first.source.write_bytes(weights.SerializeToString())
    load_encoder(first.name)
    assert first.source.read_bytes() == graph


def test_a_graph_without_its_digest_is_made_again(make_folder: Callable[..., Path]) -> None:
    first: Any = load_encoder(f"{make_folder()}:int8")
    digest = first.source.with_name(f"{first.source.name}.sha256")
    digest.unlink()
    load_encoder(first.name)
    assert digest.exists()


@pytest.mark.parametrize(
    ("happen", "told"),
    [
        (lambda path: path.unlink(), r"cannot be read any more .* load the encoder again"),
        (lambda path: path.write_bytes(b"other"), "was changed after it was loaded; load"),
    ],
)
def test_a_graph_that_is_not_there_any_more_is_not_handed_out(
    happen: Callable[[Path], Any], told: str, make_folder: Callable[..., Path]
) -> None:
    encoder: Any = load_encoder(f"{make_folder()}:int8")
    happen(encoder.source)
    with pytest.raises(EncoderError, match=told):
        encoder.graph()


def test_the_graph_needs_a_place_to_be_kept(
    make_folder: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PROTORYNET_CACHE", str(tmp_path / "file"))
    with pytest.raises(EncoderError, match="set the environment variable PROTORYNET_CACHE"):
        load_encoder(f"{make_folder()}:int8")


def test_a_folder_whose_name_ends_like_a_variant_is_itself(
    make_folder: Callable[..., Path],
) -> None:
    folder = make_folder(name="mine:int8")
    assert isinstance(load_encoder(str(folder), device="cpu"), TransformerEncoder)


def test_a_listed_folder_has_variants_too(
    make_folder: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROTORYNET_ENCODERS", str(make_folder(name="mine").parent))
    assert load_encoder("mine:int8").name == "mine:int8"


def test_an_unknown_suffix_is_told_with_those_known() -> None:
    with pytest.raises(EncoderError, match=r"no encoder 'minilm:fp8'.*:bf16 or :int8 or :static"):
        load_encoder("minilm:fp8")


def test_bfloat16_warns_where_the_processor_lacks_it(
    make_folder: Callable[..., Path], flags: Callable[[str], None]
) -> None:
    flags("avx2")
    with pytest.warns(RuntimeWarning, match="no bfloat16 instructions"):
        load_encoder(f"{make_folder()}:bf16", device="cpu")


def test_8_bits_warn_where_the_processor_lacks_their_products(
    make_folder: Callable[..., Path], flags: Callable[[str], None]
) -> None:
    flags("avx2")
    with pytest.warns(RuntimeWarning, match="less exact"):
        load_encoder(f"{make_folder()}:int8")


@pytest.mark.parametrize(
    ("told", "name"),
    [
        ("avx512_bf16 avx512_vnni", "minilm:bf16"),
        ("amx_bf16", "minilm:bf16"),
        ("avx512_vnni", "minilm:int8"),
        ("avx2", "minilm"),
    ],
)
def test_auto_follows_from_the_instructions(
    told: str, name: str, flags: Callable[[str], None]
) -> None:
    flags(told)
    assert choose_encoder("cpu").name == name


def test_auto_does_without_a_runtime_that_is_not_installed(
    flags: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    flags("avx512_vnni")
    monkeypatch.setattr(variants.importlib.util, "find_spec", lambda name: None)
    choice = choose_encoder("cpu")
    assert choice.name == "minilm"
    assert "pip install 'protorynet[onnx]'" in choice.reason


def test_auto_explains_itself_and_is_never_a_name(
    flags: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    flags("avx2")
    assert load_encoder("auto", device="cpu").name == "minilm"
    assert capsys.readouterr().err.startswith("Encoder 'minilm': the processor has ")


def test_no_processor_is_taken_for_one_it_does_not_say_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(processor, "_CPUINFO", tmp_path / "absent")
    processor._flags.cache_clear()
    assert not processor.has_bfloat16()
    assert not processor.has_byte_products()
    assert "Linux only" in choose_encoder("cpu").reason


def test_a_rate_is_that_of_the_best_pass() -> None:
    class Counting:
        name = fingerprint = "counting"
        passes = 0

        def encode(self, sentences: list[str]) -> np.ndarray:
            self.passes += 1
            return np.zeros((len(sentences), 1), np.float32)

    encoder = Counting()
    assert sentences_per_second(encoder, seconds=0.0) > 0
    assert encoder.passes == 3


def test_the_list_tells_what_is_there_and_what_is_missing(
    make_folder: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_folder(name="mine")
    (folder / "README.md").write_text("---\ntags: [x]\nlicense: mit\n---\nAn encoder.\n")
    monkeypatch.setenv("PROTORYNET_ENCODERS", str(folder.parent))
    monkeypatch.setattr("protorynet.encoders.speed.sentences_per_second", lambda encoder: 100.0)
    listed = {each.name: each for each in list_encoders(device="cpu")}
    assert list(listed) == ["minilm", "minilm:bf16", "minilm:int8", "minilm:static", "mine"]
    assert listed["minilm:static"].remedy is not None
    assert (listed["mine"].licence, listed["mine"].relative) == ("mit", 1.0)
    assert listed["minilm"].bytes_on_disk > listed["minilm:int8"].bytes_on_disk  # type: ignore


def test_an_encoder_that_cannot_read_has_a_row_that_says_so(
    make_folder: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(encoder: Any) -> float:
        if encoder.name == "bad":
            raise IndexError("index out of range in self")
        return 100.0

    monkeypatch.setenv("PROTORYNET_ENCODERS", str(make_folder(name="bad").parent))
    monkeypatch.setattr("protorynet.encoders.speed.sentences_per_second", fail)
    listed = {each.name: each for each in list_encoders(device="cpu")}
    assert "index out of range in self" in (listed["bad"].remedy or "")


def test_a_root_that_does_not_exist_lists_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROTORYNET_ENCODERS", "/nowhere/at/all")
    assert registry.listed_folders() == {}


def test_the_padded_width_of_a_text_follows_from_its_length_alone(
    minilm: TransformerEncoder,
) -> None:
    tokens = [[7] * length for length in (1, 4, 5, 30, 33, 63, 64, 65, 120, 0)]
    order, batches = minilm.tokenizer.batches(tokens, most=4_096, spare=None)
    widths = np.concatenate([np.full(len(ids), ids.shape[1]) for ids, _ in batches])
    assert dict(zip(order.tolist(), widths.tolist(), strict=True)) == {
        0: 4, 1: 4, 2: 8, 3: 32, 4: 36, 5: 64, 6: 64, 7: 72, 8: 120, 9: 1,
    }  # fmt: skip


def test_batches_of_one_width_keep_to_the_most_tokens(minilm: TransformerEncoder) -> None:
    _, batches = minilm.tokenizer.batches([[7] * 8] * 10, most=32, spare=None)
    assert [ids.shape for ids, _ in batches] == [(4, 8), (4, 8), (2, 8)]
