"""Exporting a model as a folder that ONNX Runtime reads, explanations included."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import get_args

from protorynet import __version__
from protorynet.encoders import Encoder, file_sha256
from protorynet.errors import InputError, MissingExtraError, ProtoryNetError
from protorynet.files import check_replaceable, replaced_directory
from protorynet.inference.export_comparing import Comparison, compare, trial_documents
from protorynet.inference.export_folder import (
    ENCODER,
    EXPORT,
    READER,
    REQUIREMENTS,
    TOKENIZER,
    EncoderPart,
    Exported,
    Precision,
)
from protorynet.inference.predictor import Predictor, torch_model
from protorynet.model import Model

__all__ = ["export_onnx"]

_OURS = {EXPORT, READER, ENCODER, TOKENIZER, REQUIREMENTS}
_TOLERANCE = 1e-4
_REQUIRED = (
    "jinja2>=3.1",
    "numpy>=1.26",
    "onnxruntime>=1.19",
    "pyarrow>=17",
    "rich>=13.7",
    "sentencex>=1.0.6,<2",
    "tokenizers>=0.20",
    "typer>=0.19",
)


def export_onnx(
    predictor: Predictor, folder: Path, *, precision: Precision = "float32"
) -> Comparison:
    """Write a model as a folder for ONNX Runtime, and compare the two before it is delivered.

    The encoder goes along where it is one of this package; with vectors, or an encoder of your
    own, the folder holds the reader alone and scores vectors.

    Parameters
    ----------
    predictor
        The model, computed by torch.
    folder
        The folder to write. One that exists must be an exported model, and is replaced.
    precision
        What the encoder is computed with: ``"float32"``, or ``"int8"``, which is smaller and
        faster, and whose probabilities differ somewhat. An encoder in bfloat16 is exported in
        float32, and its probabilities differ a little too.

    Returns
    -------
    Comparison
        How the two differ on the prototypes' own sentences and some others.

    Raises
    ------
    ProtoryNetError
        If an export that should give the model's own probabilities gives another label, or a
        probability that differs by over 0.0001.
    """
    if precision not in get_args(Precision):
        raise InputError(f"precision={precision!r} is not one of 'float32', 'int8'.")
    check_replaceable(
        folder, kind="an exported model", marks=(EXPORT, READER), is_own=_OURS.__contains__
    )
    for package in ("onnx", "onnxruntime"):
        if importlib.util.find_spec(package) is None:
            raise MissingExtraError("The export to ONNX", package, extra="onnx")
    model, encoder = torch_model(predictor), predictor.encoder
    try:
        with replaced_directory(folder) as fresh:
            is_same = _write(model, encoder, fresh, precision)
            comparison = compare(predictor, fresh, trial_documents(model, encoder))
            if is_same:
                _refuse_differences(comparison)
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror or error}.") from None
    return comparison


def _write(model: Model, encoder: Encoder | None, fresh: Path, precision: Precision) -> bool:
    """Fill an empty folder, and say whether it should give the model's own probabilities."""
    from protorynet.inference.encoder_graph import tokenizer_of, write_encoder
    from protorynet.inference.reader_graph import reader_graph

    part, names, is_same = None, [READER], True
    (fresh / READER).write_bytes(reader_graph(model))
    tokenizer = tokenizer_of(encoder)
    if encoder is not None and tokenizer is not None:
        written = write_encoder(encoder, fresh / ENCODER, precision)
        (fresh / TOKENIZER).write_text(tokenizer.tokenizer.to_str(), encoding="utf-8")
        part = EncoderPart(tokenizer.window, tokenizer.pad_token_id, written.precision)
        names, is_same = [*names, ENCODER, TOKENIZER], written.is_same
    elif precision != "float32":
        raise InputError(
            f"--precision {precision} is about the encoder, but that of this model "
            f"({model.encoder.name!r}) is not exported; leave it out."
        )
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
        sha256={name: file_sha256(fresh / name) for name in names},
    )
    (fresh / EXPORT).write_bytes(exported.to_json())
    (fresh / REQUIREMENTS).write_text(_requirements(), encoding="utf-8")
    return is_same


def _refuse_differences(comparison: Comparison) -> None:
    if comparison.same_labels < 1 or not comparison.largest_difference <= _TOLERANCE:
        raise ProtoryNetError(
            f"the exported model differs from the model: {comparison.same_labels:.1%} of "
            f"{comparison.n_documents} documents get the same label, and probabilities differ by "
            f"up to {comparison.largest_difference:.1g} ({_TOLERANCE:g} is allowed). Nothing was "
            "written; use the model with torch."
        )


def _requirements() -> str:
    lines = [
        "# What a Python without torch needs to run this model:",
        "#   pip install -r requirements.txt",
        f"#   pip install --no-deps protorynet=={__version__}",
        *_REQUIRED,
    ]
    return "\n".join(lines) + "\n"
