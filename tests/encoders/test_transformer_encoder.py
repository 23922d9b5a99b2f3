import copy
import json
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from transformers import BertModel

from protorynet.encoders import TransformerEncoder, WindowedEncoder
from protorynet.errors import InputError

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
    ids = torch.from_numpy(encoder.tokenize([sentence])[0])[None]
    backbone: Any = encoder.network.backbone
    with torch.inference_mode():
        hidden: torch.Tensor = backbone(input_ids=ids).last_hidden_state[0]
    return hidden


def test_a_bert_is_what_transformers_computes_and_needs_no_import_of_it(tiny_bert):
    code = (
        "import sys; from protorynet.encoders import load_encoder\n"
        "load_encoder(sys.argv[1]).encode(['a b c'])\n"
        "print({'transformers', 'sklearn', 'scipy', 'pandas', 'sympy'} & set(sys.modules))"
    )
    run = [sys.executable, "-c", code, str(tiny_bert)]
    assert subprocess.run(run, check=True, capture_output=True, text=True).stdout == "set()\n"
    encoder, ids = tiny(tiny_bert), torch.tensor([[2, 5, 6, 3]])
    with torch.inference_mode():
        own = encoder.network.backbone(ids).last_hidden_state
        theirs = BertModel.from_pretrained(tiny_bert)(ids).last_hidden_state
    assert torch.equal(own, theirs)


@pytest.fixture(scope="module")
def reference(minilm):
    """The same weights in the sentence-transformers package."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from sentence_transformers import SentenceTransformer

        return SentenceTransformer(str(minilm.source.parent), device="cpu")


def test_minilm_gives_what_sentence_transformers_gives(minilm, reference, tmp_path):
    texts = [*SENTENCES, "the staff was rude and we left the dirty room. " * 60]
    vectors = minilm.encode(texts)
    assert isinstance(minilm, WindowedEncoder)
    assert (minilm.window, vectors.shape) == (256, (7, 384))
    # Saved models have recorded this one.
    recorded = "09be55cce45af7ecc2f066a9c2862caa891684ab0ef9220464f33f9f8ccd4b17"
    assert minilm.fingerprint == recorded
    expected = reference.encode(texts, show_progress_bar=False)
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    minilm.save(tmp_path / "saved")
    loaded = type(reference)(str(tmp_path / "saved"), device="cpu")
    expected = loaded.encode(texts, show_progress_bar=False)
    np.testing.assert_allclose(vectors, expected, atol=1e-5)


def test_results_are_normalised_means_in_order_whatever_the_networks_mode(
    make_folder,
):
    encoder = tiny(make_folder())
    texts = ["we left", "the room was clean and friendly", "we", "rude staff"] * 4
    texts = [f"{text} {'a' * (i % 7)}" for i, text in enumerate(texts)]
    alone = np.concatenate([encoder.encode([text]) for text in texts])
    together = encoder.encode(texts)
    np.testing.assert_allclose(together, alone, atol=1e-5)
    assert together.dtype == np.float32
    assert together.flags.c_contiguous
    assert encoder.encode([]).shape == (0, 16)
    mean = token_vectors(encoder, "we left").mean(dim=0)
    expected = (mean / mean.norm()).numpy()
    encoder.network.train()
    np.testing.assert_allclose(encoder.encode(["we left"])[0], expected, atol=1e-6)
    assert encoder.network.training
    np.testing.assert_array_equal(encoder.encode(["we \ud800"]), encoder.encode(["we ?"]))
    with pytest.raises(InputError, match="'warp' cannot be used"):
        TransformerEncoder(make_folder(name="other"), name="tiny", device="warp")


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
@pytest.mark.parametrize("modes", [*([mode] for mode in POOLED), ["cls", "mean"]])
def test_pooling_equals_the_obvious_computation(modes, style, make_folder):
    old = {key: name in modes for name, key in OLD_KEYS.items()}
    encoder = tiny(make_folder(pooling=old if style == "old" else {"pooling_mode": modes}))
    texts = ["we left the dirty room and the rude staff", "we left"]
    tokens = [token_vectors(encoder, text) for text in texts]
    expected = [torch.cat([POOLED[mode](each) for mode in modes]).numpy() for each in tokens]
    assert encoder.dimension == 16 * len(modes)
    np.testing.assert_allclose(encoder.encode(texts), expected, atol=1e-5)


DENSE = ["Transformer", "Pooling", "Dense", "Normalize"]


def add_dense(folder: Path) -> torch.Tensor:
    weight = torch.randn(5, 16, generator=torch.Generator().manual_seed(1))
    activation = "torch.nn.modules.activation.Tanh"
    config = {"in_features": 16, "out_features": 5, "activation_function": activation}
    (folder / "2_Dense").mkdir()
    (folder / "2_Dense" / "config.json").write_text(json.dumps(config | {"bias": False}))
    save_file({"linear.weight": weight.half()}, folder / "2_Dense" / "model.safetensors")
    return weight.half().float()


def test_dense_and_normalise_modules_are_applied_in_float32_and_saved(make_folder, tmp_path):
    folder = make_folder(pooling={"pooling_mode": "mean"}, modules=DENSE)
    weight = add_dense(folder)
    BertModel.from_pretrained(folder).half().save_pretrained(folder)
    encoder = tiny(folder)
    mean = token_vectors(encoder, "we left").mean(dim=0)
    expected = torch.nn.functional.normalize(torch.tanh(weight @ mean), dim=0).numpy()
    assert encoder.dimension == 5
    np.testing.assert_allclose(encoder.encode(["we left"])[0], expected, atol=1e-6)
    assert {parameter.dtype for parameter in encoder.network.parameters()} == {torch.float32}
    encoder.save(tmp_path / "saved")
    np.testing.assert_array_equal(tiny(tmp_path / "saved").encode(["we"]), encoder.encode(["we"]))


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
def test_texts_are_cut_at_the_least_of_the_limits_but_counted_whole(files, window, make_folder):
    encoder = tiny(make_folder(**files))
    assert encoder.window == window
    assert encoder.count_tokens(["", "we left", "we " * 100]).tolist() == [2, 4, 102]
    ids = encoder.tokenize(["we " * 100])[0]
    assert (len(ids), ids[0], ids[-1]) == (window, 2, 3)


@pytest.mark.parametrize(
    "difference",
    [
        {"pooling": {"pooling_mode": "cls"}},
        {"pooling": {"pooling_mode": "mean"}},
        {"sentence_bert_config": {"max_seq_length": 10}},
        {"sentence_bert_config": {"do_lower_case": True}},
    ],
)
def test_only_what_changes_the_embeddings_changes_the_fingerprint(difference, make_folder):
    plain, moved = make_folder(name="a"), make_folder(name="b")
    config = json.loads((moved / "config.json").read_text())
    config |= {"_name_or_path": "x", "transformers_version": "0"}
    (moved / "config.json").write_text(json.dumps(config))
    assert tiny(plain).fingerprint == tiny(moved).fingerprint
    assert tiny(plain).fingerprint != tiny(make_folder(name="c", **difference)).fingerprint


def test_a_changed_file_changes_the_fingerprint_whatever_its_date_says(make_folder):
    folder = make_folder(tokenizer_config={"pad_token": "we"})
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "pad_token_id": None}))
    seen = [tiny(folder).fingerprint]
    for file, old, new in [
        ("tokenizer.json", '"left"', '"felt"'),
        ("tokenizer_config.json", '"we"', '"and"'),  # pads an empty text
    ]:
        path = folder / file
        status = path.stat()
        path.write_text(path.read_text().replace(old, new))
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        seen.append(tiny(folder).fingerprint)
    assert len(set(seen)) == 3


def test_a_training_step_changes_the_fingerprint_at_once(make_folder):
    encoder = tiny(make_folder())
    published = encoder.fingerprint
    encoder.network.double().float().train().eval()
    assert encoder.fingerprint == published
    train_a_step(encoder)
    assert published != encoder.fingerprint == copy.deepcopy(encoder).fingerprint


def train_a_step(encoder: TransformerEncoder) -> None:
    optimiser = torch.optim.SGD(encoder.network.parameters(), lr=0.1)
    ids = torch.from_numpy(encoder.tokenize(["we left"])[0])[None]
    encoder.network(ids, torch.ones_like(ids)).sum().backward()
    optimiser.step()


@pytest.mark.parametrize("pooling", ["max", ["mean", "cls"], ["cls", "mean_sqrt_len_tokens"]])
def test_a_saved_encoder_gives_the_same_outputs_even_tuned(pooling, make_folder, tmp_path):
    options = {"max_seq_length": 9, "do_lower_case": True}
    folder = make_folder(pooling={"pooling_mode": pooling}, sentence_bert_config=options)
    encoder = tiny(folder)
    small, large = encoder.tokenize(["we left", "WE Left"])
    assert small.tolist() == large.tolist()
    before = encoder.fingerprint
    shutil.rmtree(folder)
    train_a_step(encoder)
    encoder.save(tmp_path / "saved")
    loaded = tiny(tmp_path / "saved")
    assert loaded.fingerprint != before
    np.testing.assert_array_equal(loaded.encode(SENTENCES), encoder.encode(SENTENCES))
