"""BERT, which MiniLM and most sentence encoders are, with the names that its weights have.

transformers has it too, but takes longer to import than everything else that a short command does.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional

if TYPE_CHECKING:
    from protorynet.encoders.sentence_network import Packing

# What a configuration means where it says nothing.
_DEFAULTS = {
    "vocab_size": 30_522,
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3_072,
    "hidden_dropout_prob": 0.1,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
    "layer_norm_eps": 1e-12,
    "pad_token_id": 0,
}
# Whoever says otherwise here is read by transformers.
_PLAIN = {
    "model_type": ("bert",),
    "hidden_act": ("gelu", None),
    "position_embedding_type": ("absolute", None),
    "is_decoder": (False, None),
    "is_encoder_decoder": (False, None),
    "add_cross_attention": (False, None),
}
_WEIGHTS = "model.safetensors"
# From queries, keys and values (…, tokens, heads, size) to what they find.
_Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


class Bert(nn.Module):
    """The transformer itself, without pooling. `config` has the values of its config.json."""

    def __init__(self, values: dict[str, Any]) -> None:
        super().__init__()
        self._values = values
        config = self.config = SimpleNamespace(**{**_DEFAULTS, **values})
        # "eager": written out step by step, for exports.
        config._attn_implementation = "sdpa"
        width = config.hidden_size
        self.embeddings = nn.ModuleDict(
            {
                "word_embeddings": _table(config.vocab_size, width),
                "position_embeddings": _table(config.max_position_embeddings, width),
                "token_type_embeddings": _table(config.type_vocab_size, width),
                "LayerNorm": nn.LayerNorm(width, eps=config.layer_norm_eps),
            }
        )
        layers = nn.ModuleList(_Layer(config) for _ in range(config.num_hidden_layers))
        self.encoder = nn.ModuleDict({"layer": layers})
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        *,
        packing: Packing | None = None,
        return_dict: bool = True,
    ) -> SimpleNamespace:
        """Read rows of token ids; the mask is 0 on padding. With `packing`, one row of many texts.

        Texts in one row do not see each other, and nothing is computed for padding. The vectors of
        all tokens go by the name that transformers gives them, `last_hidden_state`.
        """
        if packing is not None:
            positions, attend = packing.positions, _attend_packed(packing)
        else:
            positions = torch.arange(input_ids.shape[1], device=input_ids.device)
            attend = _attend_padded(attention_mask, self.config._attn_implementation)
        tables: Any = self.embeddings
        words, places, kinds, norm = tables.values()
        kind = kinds.weight[0]  # of sentences that stand alone
        states = self.dropout(norm(words(input_ids) + kind + places(positions)))
        layers: Any = self.encoder["layer"]
        for layer in layers:
            states = layer(states, attend)
        return SimpleNamespace(last_hidden_state=states)

    def get_input_embeddings(self) -> nn.Module:
        """Return the table of the tokens' vectors."""
        return self.embeddings["word_embeddings"]

    def save_pretrained(self, folder: Path) -> None:
        """Write configuration and weights as transformers reads them."""
        (folder / "config.json").write_text(json.dumps(self._values, indent=2) + "\n", "utf-8")
        tensors = {name: value.cpu().contiguous() for name, value in self.state_dict().items()}
        save_file(tensors, folder / _WEIGHTS, {"format": "pt"})


class _Layer(nn.Module):
    """Attention and a small network for each token, each added to what was there."""

    def __init__(self, config: SimpleNamespace) -> None:
        super().__init__()
        width, inner = config.hidden_size, config.intermediate_size
        self.heads = config.num_attention_heads
        names = ("query", "key", "value")
        self.attention = nn.ModuleDict(
            {
                "self": nn.ModuleDict({name: nn.Linear(width, width) for name in names}),
                "output": _residual_output(width, width, config),
            }
        )
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(width, inner)})
        self.output = _residual_output(inner, width, config)

    def forward(self, states: Tensor, attend: _Attend) -> Tensor:
        asking: Any = self.attention["self"]
        parts = [part(states).unflatten(-1, (self.heads, -1)) for part in asking.values()]
        states = self._join(self.attention["output"], attend(*parts).flatten(-2), states)
        inner = functional.gelu(self.intermediate["dense"](states))
        return self._join(self.output, inner, states)

    @staticmethod
    def _join(output: Any, found: Tensor, states: Tensor) -> Tensor:
        joined: Tensor = output["LayerNorm"](output["dropout"](output["dense"](found)) + states)
        return joined


def _table(count: int, width: int) -> nn.Embedding:
    # Drawing numbers that lie nowhere yet makes torch import its compiler, for seconds.
    zeros = torch.zeros(count, width)
    table: nn.Embedding = nn.Embedding.from_pretrained(zeros, freeze=False)  # type: ignore[no-untyped-call]
    return table


def _residual_output(inner: int, width: int, config: SimpleNamespace) -> nn.ModuleDict:
    return nn.ModuleDict(
        {
            "dense": nn.Linear(inner, width),
            "LayerNorm": nn.LayerNorm(width, eps=config.layer_norm_eps),
            "dropout": nn.Dropout(config.hidden_dropout_prob),
        }
    )


def load_bert(folder: Path, values: dict[str, Any]) -> Bert | None:
    """Return the BERT of a folder in float32 on the CPU; None where it is unlike most."""
    if any(values.get(name) not in usual for name, usual in _PLAIN.items()):
        return None
    weights = load_file(folder / _WEIGHTS)
    # Without memory of its own, until the weights have proved to be of the sizes it claims.
    with torch.device("meta"):
        bert = Bert(values)
    expected = bert.state_dict()
    if any(name not in weights or weights[name].shape != expected[name].shape for name in expected):
        return None
    # Copied, for the file's own pages would change with the file.
    copies = {name: weights[name].to(torch.float32, copy=True) for name in expected}
    bert.load_state_dict(copies, assign=True)
    return bert


def _attend_padded(attention_mask: Tensor | None, way: str) -> _Attend:
    mask = None if attention_mask is None else attention_mask[:, None, None].bool()
    if way == "eager":
        return lambda *parts: _attend_step_by_step(*parts, mask=mask)
    # Nothing to hide, nothing to compute; but on a GPU asking would mean waiting.
    if mask is not None and mask.device.type == "cpu" and bool(mask.all()):
        mask = None

    def attend(*parts: Tensor) -> Tensor:
        query, key, value = (part.transpose(1, 2) for part in parts)
        found = functional.scaled_dot_product_attention(query, key, value, mask)
        return found.transpose(1, 2)

    return attend


def _attend_step_by_step(*parts: Tensor, mask: Tensor | None) -> Tensor:
    query, key, value = (part.transpose(1, 2) for part in parts)
    scores = query @ key.transpose(2, 3) * query.shape[-1] ** -0.5
    if mask is not None:
        scores = scores + (~mask) * torch.finfo(scores.dtype).min
    found: Tensor = scores.softmax(-1) @ value
    return found.transpose(1, 2)


def _attend_packed(packing: Packing) -> _Attend:
    """Attend within the texts of one run; (1, tokens, heads, size) each."""
    if packing.rows:
        return _attend_in_rows(packing)

    def attend(*parts: Tensor) -> Tensor:
        q, k, v = (part[0] for part in parts)
        if q.is_cuda and q.dtype in (torch.bfloat16, torch.float16):
            from torch.nn.attention.varlen import varlen_attn

            bounds, longest = packing.bounds, packing.longest
            found = varlen_attn(q, k, v, bounds, bounds, longest, longest)
            assert isinstance(found, Tensor)
            return found[None]
        result = torch.empty_like(v)
        for tokens, real in packing.groups:
            query, key, value = (part[tokens].transpose(1, 2) for part in (q, k, v))
            mask = real[:, None, None]
            group = functional.scaled_dot_product_attention(query, key, value, mask)
            result = result.index_copy(0, tokens[real], group.transpose(1, 2)[real])
        return result[None]

    return attend


def _attend_in_rows(packing: Packing) -> _Attend:
    """Attend within the texts of rows: one tile has room for several, which are short mostly."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    # cuDNN would take its time to prepare for each size.
    ways = [SDPBackend.EFFICIENT_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]
    sizes = [count * width for count, width in packing.rows]
    masks: list[Tensor] = []

    def attend(*parts: Tensor) -> Tensor:
        if not masks:
            for same in packing.together:
                visible = torch.zeros_like(same, dtype=parts[0].dtype)
                masks.append(visible.masked_fill(~same, float("-inf")))
        found = []
        kinds = zip(*(torch.split(part[0], sizes) for part in parts), strict=True)
        for kind, mask in zip(kinds, masks, strict=True):
            rows = (part.view(*mask.shape[::2], *part.shape[1:]).transpose(1, 2) for part in kind)
            query, key, value = rows
            with sdpa_kernel(ways):
                seen = functional.scaled_dot_product_attention(query, key, value, mask)
            found.append(seen.transpose(1, 2).flatten(0, 1))
        return torch.cat(found)[None]

    return attend
