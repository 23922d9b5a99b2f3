"""Exporting a model as a folder that ONNX Runtime reads, explanations included."""

import copy
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import requires
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from torch import Tensor, nn

from protorynet import __version__
from protorynet.encoders import (
    Bfloat16Encoder,
    Encoder,
    OnnxEncoder,
    SentenceTokenizer,
    StaticEncoder,
    TransformerEncoder,
    export_encoder,
    export_graph,
    export_int8,
    file_sha256,
    split_variant,
)
from protorynet.errors import InputError, ProtoryNetError, import_extra
from protorynet.files import check_replaceable, replaced_directory
from protorynet.inference.onnx_backend import (
    ENCODER,
    EXPORT,
    INPUTS,
    OUTPUTS,
    READER,
    REQUIREMENTS,
    TOKENIZER,
    WORDS,
    EncoderPart,
    Exported,
    Precision,
)
from protorynet.inference.predictor import Predictor, open_predictor, torch_model
from protorynet.model import Model
from protorynet.network import (
    all_similarities,
    at_last_sentence,
    embed_vectors,
    find_nearest_two,
    find_unfamiliar,
    probabilities,
)

_OURS = {EXPORT, READER, ENCODER, TOKENIZER, WORDS, REQUIREMENTS}
_ALLOWED = 1e-4  # difference of a probability
# Of what the package requires, what an environment for exported models needs.
_NEEDED = ("jinja2", "numpy", "onnxruntime", "pyarrow", "rich", "sentencex", "tokenizers", "typer")
_TRIAL_SENTENCES = (
    "The room was clean and the staff could not have been kinder.",
    "Nothing worked, and nobody seemed to care!",
    "We arrived on Tuesday at 7:30 p.m., two hours late.",
    "Would I recommend it?",
    "Ein schöner Abend — naïve café, 東京, 100 %.",
    "ok",
    "It is neither good nor bad, but it is " + "very, " * 60 + "long.",
)
_TRIAL_DOCUMENTS = 64  # of random vectors, where there is no encoder


@dataclass(frozen=True)
class Comparison:
    """How an exported model differs from the model it comes from, in shares of the same answers.

    `accuracy` and `exported_accuracy` are None where the right labels are not known.
    """

    n_documents: int
    same_labels: float
    same_prototypes: float
    largest_difference: float
    accuracy: float | None = None
    exported_accuracy: float | None = None


def export_onnx(
    predictor: Predictor, folder: Path, *, precision: Precision = "float32"
) -> Comparison:
    """Write a model as a folder for ONNX Runtime, and compare the two before it is delivered.

    The encoder goes along where it is one of this package; with vectors, or an encoder of your
    own, the folder holds the reader alone and scores vectors. A folder that exists must be an
    exported model, and is replaced. The encoder is computed in ``"float32"``, or in ``"int8"``,
    which is smaller and faster, and whose probabilities differ somewhat, as do those of one in
    bfloat16, which is exported in float32. Any other export that gives another label, or a
    probability that differs by over 0.0001, is a ProtoryNetError.
    """
    if precision not in get_args(Precision):
        raise InputError(f"precision={precision!r} is not one of 'float32', 'int8'.")
    check_replaceable(
        folder, kind="an exported model", marks=(EXPORT, READER), is_own=_OURS.__contains__
    )
    for package in ("onnx", "onnxruntime"):
        import_extra("The export to ONNX", package, extra="onnx")
    model, encoder = torch_model(predictor), predictor.encoder
    try:
        with replaced_directory(folder) as fresh:
            is_same = _write(model, encoder, fresh, precision)
            comparison = compare(predictor, fresh, _trial_documents(model, encoder))
            is_like = comparison.same_labels == 1 and comparison.largest_difference <= _ALLOWED
            if is_same and not is_like:
                raise ProtoryNetError(
                    f"the exported model differs from the model: {comparison.same_labels:.1%} of "
                    f"{comparison.n_documents} documents get the same label, and probabilities "
                    f"differ by up to {comparison.largest_difference:.1g} ({_ALLOWED:g} is "
                    "allowed). Nothing was written; use the model with torch."
                )
    except OSError as error:
        raise InputError(f"the model cannot be exported to {folder}: {error}.") from None
    return comparison


def _write(model: Model, encoder: Encoder | None, fresh: Path, precision: Precision) -> bool:
    """Fill an empty folder, and say whether it should give the model's own probabilities."""
    part, is_same = None, True
    _write_reader(model, fresh / READER)
    tokenizer = _tokenizer_of(encoder)
    if encoder is not None and tokenizer is not None:
        written, is_same = _write_encoder(encoder, fresh / ENCODER, precision)
        (fresh / TOKENIZER).write_text(tokenizer.tokenizer.to_str(), encoding="utf-8")
        part = EncoderPart(tokenizer.window, tokenizer.pad_token_id, written)
    elif precision != "float32":
        raise InputError(
            f"--precision {precision} is about the encoder, but that of this model "
            f"({model.encoder.name!r}) is not exported; leave it out."
        )
    if model.words is not None:
        (fresh / WORDS).write_bytes(model.words.to_json())
    exported = Exported(
        version=__version__,
        labels=model.labels,
        prototypes=model.prototypes,
        splitter=model.splitter,
        encoder_name=model.encoder.name,
        encoder_fingerprint=model.encoder.fingerprint,
        dimension=len(model.centring.mean),
        encoder=part,
        class_frequencies=model.training.class_frequencies,
        validation_accuracy=model.training.validation_accuracy,
        reader_is_behind=model.edits.reader_is_behind,
        familiar=model.familiar,
        sha256={path.name: file_sha256(path) for path in sorted(fresh.iterdir())},
    )
    (fresh / EXPORT).write_bytes(exported.to_json())
    required = {each.partition(";")[0].strip() for each in requires("protorynet") or ()}
    lines = [
        "# What a Python without torch needs to run this model:",
        "#   pip install -r requirements.txt",
        f"#   pip install --no-deps protorynet=={__version__}",
        *sorted(each for each in required if re.split("[<>=]", each)[0] in _NEEDED),
    ]
    (fresh / REQUIREMENTS).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return is_same


def compare(
    predictor: Predictor, folder: Path, documents: Sequence[Any], labels: Any = None
) -> Comparison:
    """Let a model and its export read the same documents, of which the labels may be known."""
    model, encoder = torch_model(predictor), predictor.encoder
    own = encoder if _tokenizer_of(encoder) is None else None
    expected = Predictor(predictor.backend, encoder, cache=False).read(documents)
    if not len(expected.lengths):
        raise InputError("there are no documents with a sentence to compare by.")
    given = open_predictor(folder, encoder=own, cache=False).read(documents)
    right = None if labels is None else model.labels.encode(labels)[expected.filled]
    share = model.labels.share_equal
    return Comparison(
        n_documents=len(expected.lengths),
        same_labels=share(expected.probabilities, given.probabilities),
        same_prototypes=float((given.prototypes == expected.prototypes).mean()),
        largest_difference=float(np.abs(given.probabilities - expected.probabilities).max()),
        accuracy=None if right is None else share(expected.probabilities, right),
        exported_accuracy=None if right is None else share(given.probabilities, right),
    )


def _trial_documents(model: Model, encoder: Encoder | None) -> list[Any]:
    """Return documents that try every prototype, and sentences of many kinds and lengths."""
    if encoder is None:
        draw = np.random.default_rng(0)
        mean = model.centring.mean.cpu().numpy()
        spread = float(model.centring.scale) or 1.0
        lengths = draw.integers(1, 12, _TRIAL_DOCUMENTS)
        return [
            (mean + spread * draw.normal(size=(length, len(mean)))).astype(np.float32)
            for length in lengths
        ]
    sentences = [*_TRIAL_SENTENCES, *(prototype.sentence for prototype in model.prototypes)]
    together = ["\n".join(sentences[at::7]) for at in range(7)]
    return [*sentences, *together, "\n".join(sentences)]


def _tokenizer_of(encoder: Encoder | None) -> SentenceTokenizer | None:
    """Return the tokenizer of an encoder that can be exported, None for any other one."""
    ours = TransformerEncoder | Bfloat16Encoder | OnnxEncoder | StaticEncoder
    return encoder.tokenizer if isinstance(encoder, ours) else None


def _write_encoder(encoder: Encoder, path: Path, precision: Precision) -> tuple[Precision, bool]:
    """Write an encoder as an ONNX file from ``ids`` and ``mask`` to ``vectors``.

    Returns what it is computed with, and whether its vectors should be those of the encoder, but
    for rounding in float32.
    """
    export_network = export_encoder if precision == "float32" else export_int8
    if isinstance(encoder, TransformerEncoder):
        export_network(encoder.network, path)
        return precision, precision == "float32"
    if isinstance(encoder, Bfloat16Encoder):
        # ONNX Runtime has no products in bfloat16 on a CPU.
        export_network(copy.deepcopy(encoder.teacher.network).float(), path)
        return precision, False
    is_small = split_variant(encoder.name)[1] == "int8"
    if precision == "int8" and not is_small:
        raise InputError(
            f"the encoder {encoder.name!r} cannot be quantised; leave out --precision int8."
        )
    if isinstance(encoder, StaticEncoder):
        example = (torch.ones(2, 3, dtype=torch.long), torch.ones(2, 3, dtype=torch.long))
        shape = {0: "rows", 1: "tokens"}
        axes = {"ids": shape, "mask": shape, "vectors": {0: "rows"}}
        export_graph(_StaticGraph(encoder), example, path, ("ids", "mask"), ("vectors",), axes)
    else:
        assert isinstance(encoder, OnnxEncoder)  # no other has a tokenizer to go along
        path.write_bytes(encoder.source.read_bytes())
    return "int8" if is_small else "float32", True


class _ReaderGraph(nn.Module):
    """Everything of a model but its encoder, from vectors to prototypes and probabilities.

    Inputs: ``vectors`` (m, d), the encoder's vectors, with what words tell beside them; ``rows``
    (documents, longest), the index into `vectors` of each sentence, anything where a document has
    ended; ``lengths`` (documents,).
    Outputs: ``probabilities`` (documents, C), and for each sentence ``running`` (documents,
    longest, C), ``columns``, ``similarities``, ``runner_up`` and ``runner_up_similarities``
    (documents, longest): the nearest member, and that of another prototype; where a document has
    ended, members are −1 and similarities 0. ``unfamiliar`` (documents, longest) says whether a
    sentence is.
    """

    members: Tensor
    families: Tensor

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.centring, self.adapter = model.centring, model.adapter
        self.reader = model.network.reader
        self.register_buffer("members", model.network.members.detach())
        self.register_buffer("families", model.network.families)
        self.n_prototypes = model.network.n_prototypes
        self.settings, self.task = model.settings, model.labels.task
        self.limits = (model.familiar, model.reach)

    def forward(self, vectors: Tensor, index: Tensor, lengths: Tensor) -> tuple[Tensor, ...]:
        embedded = embed_vectors(vectors, self.centring, self.adapter)
        two, near = find_nearest_two(embedded, self.members, self.families, self.settings)
        matched, similarities = two[index], near[index]
        if self.settings.selection == "dense":
            steps = all_similarities(embedded, self.members, self.settings)[index]
        else:
            shape = (*index.shape, self.n_prototypes)
            seen = similarities[..., :1]
            entries = torch.ones_like(seen) if self.settings.selection == "one_hot" else seen
            steps = seen.new_zeros(shape).scatter(-1, self.families[matched[..., :1]], entries)
        running = probabilities(self.reader(steps), self.task)
        inside = torch.arange(index.shape[1])[None] < lengths[:, None]
        outputs = [
            torch.where(inside, values[..., rank], nothing)
            for rank in (0, 1)
            for values, nothing in ((matched, -1), (similarities, 0.0))
        ]
        far = self.centring.distance(vectors[:, : len(self.centring.mean)])
        strange = find_unfamiliar(near[:, 0], far, *self.limits)[index]
        return at_last_sentence(running, lengths), running, *outputs, strange & inside


def _write_reader(model: Model, path: Path) -> None:
    dimension = model.width
    # Documents of unequal length, so that nothing in the graph is taken for a constant.
    example = (torch.ones(3, dimension), torch.tensor([[0, 1], [2, 0]]), torch.tensor([1, 2]))
    sentences = {0: "documents", 1: "longest"}
    axes = {"vectors": {0: "distinct"}}
    axes |= {name: {0: "documents"} for name in ("lengths", "probabilities")}
    axes |= dict.fromkeys(("rows", *OUTPUTS[1:]), sentences)
    # A copy, so that the model keeps its device and its mode.
    export_graph(copy.deepcopy(_ReaderGraph(model)).cpu(), example, path, INPUTS, OUTPUTS, axes)


class _StaticGraph(nn.Module):
    """The sum of the vectors of the tokens, brought to length one."""

    vectors: Tensor
    blank: Tensor

    def __init__(self, encoder: StaticEncoder) -> None:
        super().__init__()
        self.register_buffer("vectors", torch.from_numpy(encoder.vectors))
        self.register_buffer("blank", torch.from_numpy(encoder.blank))

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        total = (self.vectors[ids] * mask[..., None].float()).sum(dim=1)
        length = total.norm(dim=-1, keepdim=True)
        return torch.where(length > 0, total / torch.where(length > 0, length, 1.0), self.blank)
