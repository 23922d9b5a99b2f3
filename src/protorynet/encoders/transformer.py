"""Any sentence-transformers model, read without the sentence-transformers package."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from protorynet.encoders.folder import read_layout
from protorynet.encoders.loading import (
    choose_device,
    folder_fingerprint,
    load_network,
)
from protorynet.encoders.pooling import Dense, SentenceNetwork
from protorynet.encoders.saving import TOKENIZER_FILES, check_free, write_folder
from protorynet.encoders.tokenizer_folder import load_tokenizer, padding_token, token_window
from protorynet.encoders.tokens import SentenceTokenizer
from protorynet.errors import EncoderError
from protorynet.files import replaced_directory

__all__ = ["TransformerEncoder"]

# Most tokens of one batch, padding included, and the padding that is cheaper than another batch.
# On a CPU the time goes with the padded tokens, whatever the size of the batch, and vectors are
# the same to the last bit in any company; a GPU wants few large batches.
_CPU_BATCH = (4_096, None)
_GPU_BATCH = (131_072, 32_768)


class TransformerEncoder:
    """A transformer with pooling, from a sentence-transformers folder.

    Weights are read from safetensors only and computed with in float32. A folder without
    modules.json is given mean pooling and normalisation.

    Parameters
    ----------
    folder
        Holds config.json, model.safetensors, tokenizer.json and, usually, modules.json.
    name
        What people call the encoder.
    device
        ``"auto"`` (a GPU where there is one), ``"cpu"``, ``"cuda"``, …

    Attributes
    ----------
    network
        The torch module from token ids and attention mask to embeddings, for fine-tuning.
    tokenizer
        From texts to token ids.
    dimension, window, pad_token_id
        Components of an embedding; most tokens read of one text; the id that fills short rows.
    source
        The file of the weights as they were loaded.

    Examples
    --------
    >>> from protorynet.encoders import load_encoder
    >>> encoder = load_encoder("minilm", device="cpu")
    >>> encoder.encode(["A fine hotel.", "We left early."]).shape
    (2, 384)
    >>> encoder.count_tokens(["A fine hotel."]).tolist()
    [6]
    """

    def __init__(self, folder: Path, *, name: str, device: str = "auto") -> None:
        target = choose_device(device)
        self.name = name
        self._layout = read_layout(Path(folder))
        self.source = self._layout.transformer / "model.safetensors"
        self.network: SentenceNetwork = load_network(self._layout)
        config: Any = self.network.backbone.config
        tokenizer = load_tokenizer(self._layout, config.vocab_size)
        special_tokens = tokenizer.num_special_tokens_to_add(False)
        window = token_window(self._layout, config, special_tokens)
        self.pad_token_id = padding_token(self._layout, config, tokenizer)
        self.tokenizer = SentenceTokenizer(tokenizer, window, self.pad_token_id)
        self.dimension = self._dimension(config.hidden_size)
        self._tokenizer_files = {
            name: (self._layout.transformer / name).read_bytes()
            for name in TOKENIZER_FILES
            if (self._layout.transformer / name).exists()
        }
        as_loaded = folder_fingerprint(self._layout, window)
        self._fingerprints = {self._weights_version(): as_loaded}
        self.network.to(target)

    @property
    def window(self) -> int:
        """The most tokens read of one sentence, special tokens included."""
        return self.tokenizer.window

    @property
    def fingerprint(self) -> str:
        """A hash of all that decides the embeddings, the weights as they are now included."""
        version = self._weights_version()
        if version not in self._fingerprints:
            digest = hashlib.sha256(next(iter(self._fingerprints.values())).encode())
            for tensor in self.network.state_dict().values():
                digest.update(tensor.detach().cpu().contiguous().numpy())
            self._fingerprints[version] = digest.hexdigest()
        return self._fingerprints[version]

    def encode(self, sentences: list[str]) -> NDArray[np.float32]:
        """Return one row per sentence; what lies beyond the window is not read."""
        tokens = self.tokenize(sentences)
        result = np.empty((len(tokens), self.dimension), dtype=np.float32)
        if not tokens:
            return result
        training = self.network.training
        self.network.eval()
        try:
            with torch.inference_mode():
                order, batches = self._batches(tokens)
                vectors = torch.cat([self.network(ids, mask) for ids, mask in batches])
        finally:
            self.network.train(training)
        result[order] = vectors.float().cpu().numpy()
        return result

    def tokenize(self, sentences: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text, special tokens included, cut at the window."""
        return self.tokenizer.tokenize(sentences)

    def count_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return the number of tokens of each text, special tokens included, nothing cut."""
        return self.tokenizer.count(texts)

    def save(self, folder: Path) -> None:
        """Write a complete folder that gives the same outputs; an old one is replaced."""
        check_free(Path(folder))
        try:
            with replaced_directory(Path(folder)) as fresh:
                write_folder(fresh, self.network, self._layout, self.window, self._tokenizer_files)
        except OSError as error:
            raise EncoderError(f"the encoder cannot be saved to {folder}: {error}") from None

    def _batches(
        self, tokens: list[list[int]]
    ) -> tuple[NDArray[np.int64], Iterator[tuple[torch.Tensor, torch.Tensor]]]:
        device = next(self.network.parameters()).device
        most, spare = _CPU_BATCH if device.type == "cpu" else _GPU_BATCH
        order, batches = self.tokenizer.batches(tokens, most=most, spare=spare)
        return order, (
            (torch.from_numpy(ids).to(device), torch.from_numpy(mask).to(device))
            for ids, mask in batches
        )

    def _dimension(self, hidden_size: int) -> int:
        dense = [head for head in self.network.heads if isinstance(head, Dense)]
        return dense[-1].linear.out_features if dense else hidden_size * len(self.network.pooling)

    def __deepcopy__(self, memo: dict[int, Any]) -> TransformerEncoder:
        copied = copy.copy(self)
        copied.network = copy.deepcopy(self.network, memo)
        copied._fingerprints = dict(self._fingerprints)
        return copied

    def _weights_version(self) -> tuple[int, ...]:
        # torch counts the writes to each tensor, but not those of a fused optimiser. The sum of the
        # bits, read as whole numbers, is quick and the same in every order and on every device.
        whole = {2: torch.int16, 4: torch.int32}
        sums = [
            parameter.detach().view(whole[parameter.element_size()]).sum()
            for parameter in self.network.parameters()
        ]
        return tuple(torch.stack(sums).tolist())
