"""Any sentence-transformers model: loaded with transformers, computed in our own batches.

sentence-transformers itself is not imported: it fills in weights that a folder lacks with random
ones, takes another tokenizer than a plain folder's own, and would make every command start later.
"""

from __future__ import annotations

import copy
import hashlib
import logging
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from protorynet.encoders.bert import Bert, load_bert
from protorynet.encoders.encoder_folder import (
    DenseLayer,
    FolderLayout,
    check_config,
    first_line,
    folder_fingerprint,
    read_json,
    read_layout,
    safetensors_file,
)
from protorynet.encoders.sentence_network import Dense, Normalize, SentenceNetwork, evaluating
from protorynet.encoders.sentence_tokenizer import Tokens, read_tokenizer
from protorynet.errors import EncoderError, InputError
from protorynet.files import write_files
from protorynet.threads import map_in_threads

# Most tokens of one batch, padding included, and the padding that is cheaper than another batch.
# On a CPU the time goes with the padded tokens, whatever the size of the batch, and vectors are
# the same to the last bit in any company; a GPU wants few large batches.
CPU_BATCH_TOKENS = (2_048, None)
GPU_BATCH_TOKENS = (131_072, 32_768)
PACKED_TOKENS = 32_768  # of a run without padding, always as many
# The switch is one for the whole process: a thread must not restore what another one relies on.
_OFFLINE_SWITCH = threading.RLock()


class TransformerEncoder:
    """A transformer with pooling, from a sentence-transformers folder.

    Weights are read from safetensors only and computed with in float32. A folder without
    modules.json is given mean pooling and normalisation. `network` is the torch module from token
    ids and attention mask to embeddings, for fine-tuning; `source` the file of its weights as they
    were loaded, `window` the most tokens read of one text.
    """

    def __init__(self, folder: Path, *, name: str, device: str = "auto") -> None:
        target = choose_device(device)
        self.name = name
        self._layout = read_layout(folder)
        inside = self._layout.transformer
        self.source = inside / "model.safetensors"
        self.network = _load_network(self._layout)
        config: Any = self.network.backbone.config
        self.tokenizer = read_tokenizer(self._layout, config)
        self.pad_token_id, self.window = self.tokenizer.pad_token_id, self.tokenizer.window
        self.tokenize, self.count_tokens = self.tokenizer.tokenize, self.tokenizer.count_tokens
        dense = [head for head in self._layout.heads if isinstance(head, DenseLayer)]
        pooled = config.hidden_size * len(self._layout.pooling)
        self.dimension: int = dense[-1].out_features if dense else pooled
        # Kept, so that the encoder can be saved after its folder was removed.
        self._descriptions = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in self._layout.descriptions
        }
        as_loaded = folder_fingerprint(self._layout, self.window, self.pad_token_id)
        self._fingerprints = {self._weights_version(): as_loaded}
        self.network.to(target)

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

    @property
    def is_on_gpu(self) -> bool:
        """Whether other work can be done while it encodes."""
        return next(self.network.parameters()).device.type != "cpu"

    def encode(self, sentences: list[str]) -> NDArray[np.float32]:
        """Return one vector per sentence; what lies beyond the window is not read."""
        return self.encode_tokens(self.tokenize(sentences))

    def encode_tokens(self, tokens: Tokens) -> NDArray[np.float32]:
        """Return one vector per sentence, of what `tokenize` returned."""
        result = np.empty((len(tokens), self.dimension), dtype=np.float32)
        if not len(tokens):
            return result
        weight = next(self.network.parameters())
        with evaluating(self.network):
            is_packable = self.network.is_packable and self.window <= PACKED_TOKENS
            if weight.is_cuda and weight.dtype == torch.bfloat16 and is_packable:
                order = np.arange(len(tokens))
                runs = tokens.filled(self.pad_token_id).runs(PACKED_TOKENS)
                vectors = [self._forward_packed(run) for run in runs]
            else:
                sizes = GPU_BATCH_TOKENS if self.is_on_gpu else CPU_BATCH_TOKENS
                order, batches = self.tokenizer.batches(tokens, most=sizes[0], spare=sizes[1])
                vectors = map_in_threads(self._forward, batches, device=weight.device.type)
        result[order] = torch.cat(vectors).float().cpu().numpy()
        return result

    @torch.inference_mode()
    def _forward(self, batch: tuple[NDArray[np.int64], NDArray[np.int64]]) -> Tensor:
        device = next(self.network.parameters()).device
        ids, mask = (torch.from_numpy(part).to(device) for part in batch)
        vectors: Tensor = self.network(ids, mask)
        return vectors

    def _forward_packed(self, texts: Tokens) -> Tensor:
        """Read texts without padding between them, in bfloat16.

        A run always has as many tokens, so that all products have the same size: the same kernels
        sum in the same order, and no vector depends on its neighbours.
        """
        device = next(self.network.parameters()).device
        room = PACKED_TOKENS - len(texts.ids)
        filling = [min(self.window, room - at) for at in range(0, room, self.window)]
        lengths = torch.from_numpy(np.append(texts.lengths, np.array(filling, np.int64)))
        flat = np.full(PACKED_TOKENS, self.pad_token_id, dtype=np.int64)
        flat[: len(texts.ids)] = texts.ids
        run, bounds = (
            part.pin_memory().to(device, non_blocking=True)
            for part in (torch.from_numpy(flat), lengths)
        )
        return self.network.forward_packed(run, bounds, self.window)[: len(texts)]

    def save(self, folder: Path) -> None:
        """Fill a folder that gives the same outputs: described as the first one, weights as now."""
        write_files(folder, self._descriptions)
        root = self._layout.root
        inside = folder / self._layout.transformer.relative_to(root)
        backbone: Any = self.network.backbone
        if isinstance(backbone, Bert):
            backbone.save_pretrained(inside)
        else:
            with quiet_transformers():
                backbone.save_pretrained(inside, max_shard_size="1000GB")
        for head, module in zip(self._layout.heads, self.network.heads, strict=True):
            if isinstance(head, DenseLayer):
                weights = {key: value.cpu() for key, value in module.state_dict().items()}
                save_file(weights, folder / head.folder.relative_to(root) / "model.safetensors")

    def __deepcopy__(self, memo: dict[int, Any]) -> TransformerEncoder:
        copied = copy.copy(self)
        copied.network = copy.deepcopy(self.network, memo)
        copied._fingerprints = dict(self._fingerprints)
        return copied

    def _weights_version(self) -> tuple[int, ...]:
        # torch counts the writes to each tensor, but not those of a fused optimiser. The sum of the
        # bits, read as whole numbers, is quick and the same in every order and on every device.
        sums = [_sum_of_bits(parameter.detach()) for parameter in self.network.parameters()]
        return tuple(torch.stack(sums).tolist())


def _sum_of_bits(tensor: Tensor) -> Tensor:
    flat, size = tensor.reshape(-1), tensor.element_size()
    if flat.numel() * size % 8:
        return flat.view({2: torch.int16, 4: torch.int32}[size]).sum()
    # By eight bytes: torch takes forty times as long to add up shorter numbers.
    return (flat.clone() if flat.storage_offset() * size % 8 else flat).view(torch.int64).sum()


def choose_device(device: str) -> torch.device:
    """Return the device named; ``"auto"`` is a GPU where there is one."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
        torch.empty(0, device=chosen)
    except (RuntimeError, AssertionError, NotImplementedError, TypeError, ValueError) as error:
        raise InputError(
            f"the device {device!r} cannot be used ({first_line(error)}); try 'auto' or 'cpu'."
        ) from None
    return chosen


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Silence transformers' and the hub's bars, logging and warnings while the block runs."""
    from transformers.utils import logging as transformers_logging

    chatter: Any = transformers_logging
    level, bars = chatter.get_verbosity(), chatter.is_progress_bar_enabled()
    hub = logging.getLogger("huggingface_hub")
    hub_level = hub.level
    chatter.set_verbosity(logging.CRITICAL)
    hub.setLevel(logging.CRITICAL)
    chatter.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        chatter.set_verbosity(level)
        hub.setLevel(hub_level)
        if bars:
            chatter.enable_progress_bar()


@contextmanager
def _offline_hub() -> Iterator[None]:
    """Make every request to the Hugging Face hub fail before it is sent, while the block runs."""
    from huggingface_hub import constants

    with _OFFLINE_SWITCH:
        before = constants.HF_HUB_OFFLINE
        constants.HF_HUB_OFFLINE = True
        try:
            yield
        finally:
            constants.HF_HUB_OFFLINE = before


def _load_network(layout: FolderLayout) -> SentenceNetwork:
    """Return the network in float32 on the CPU, in evaluation mode."""
    folder = layout.transformer
    # Both are checked here because transformers' own errors would suggest the network and pickles.
    check_config(folder / "config.json")
    safetensors_file(folder)
    try:
        backbone = load_bert(folder, read_json(folder / "config.json")) or _load_any(folder)
    except EncoderError:
        raise
    except Exception as error:
        # The libraries raise nearly every type there is for a damaged folder.
        raise EncoderError(
            f"the encoder in {folder} cannot be loaded ({first_line(error)}); copy or fetch it "
            "again."
        ) from None
    heads = _load_heads(layout, backbone.config.hidden_size)
    network = SentenceNetwork(backbone, layout.pooling, heads).eval()
    for name, tensor in network.state_dict().items():
        if not bool(tensor.isfinite().all()):
            raise EncoderError(
                f"the encoder in {folder} has the weights {name!r}, which are not finite numbers; "
                "copy or fetch it again."
            )
    return network


def _load_any(folder: Path) -> Any:
    """Return a transformer of any kind."""
    from transformers import AutoConfig, AutoModel

    # A configuration can ask the hub for more in ways that local_files_only does not cover.
    with quiet_transformers(), _offline_hub():
        options = {"local_files_only": True, "trust_remote_code": False}
        config = AutoConfig.from_pretrained(folder, **options)
        if config.is_encoder_decoder:
            raise EncoderError(f"{folder} holds an encoder-decoder model: not supported.")
        backbone, report = AutoModel.from_pretrained(
            folder,
            config=config,
            dtype=torch.float32,
            use_safetensors=True,
            output_loading_info=True,
            **options,
        )
    missing = sorted(key for key in report["missing_keys"] if not key.startswith("pooler."))
    if missing:
        raise EncoderError(
            f"{folder / 'model.safetensors'} lacks {len(missing)} weight(s), such as "
            f"{missing[0]!r}; copy or fetch it again."
        )
    return backbone


def _load_heads(layout: FolderLayout, hidden_size: int) -> Iterator[nn.Module]:
    width = hidden_size * len(layout.pooling)
    for head in layout.heads:
        if not isinstance(head, DenseLayer):
            yield Normalize()
            continue
        if head.in_features != width:
            raise EncoderError(
                f"{head.folder} expects {head.in_features} components but gets {width}; "
                "the folder's parts do not belong together."
            )
        width = head.out_features
        yield _load_dense(head)


def _load_dense(layer: DenseLayer) -> Dense:
    path = safetensors_file(layer.folder)
    try:
        # Without memory of its own until the weights have proved to be of the sizes it claims.
        with torch.device("meta"):
            module = Dense(layer.in_features, layer.out_features, layer.bias, layer.activation)
        # Copied, for the file's own pages would change with the file.
        weights = {
            name: tensor.to(torch.float32, copy=True) for name, tensor in load_file(path).items()
        }
        module.load_state_dict(weights, assign=True)
    except Exception as error:
        raise EncoderError(
            f"{path} is damaged ({first_line(error)}); copy or fetch it again."
        ) from None
    return module
