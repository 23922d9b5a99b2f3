"""A sentence encoder as an ONNX graph, run without torch."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from protorynet.encoders.folder import first_line
from protorynet.encoders.tokens import SentenceTokenizer
from protorynet.errors import EncoderError, MissingExtraError, ModelFormatError

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

__all__ = ["OnnxEncoder", "open_session", "run_session"]

_BATCH_TOKENS = 4_096  # padding included
_INPUTS = ("ids", "mask")
_OUTPUT = "vectors"


class OnnxEncoder:
    """A sentence encoder in ONNX Runtime.

    Parameters
    ----------
    graph
        The content of an ONNX file with inputs ``ids`` and ``mask`` and the output ``vectors``.
    tokenizer
        What turns texts into ids.
    name, fingerprint
        What people call the encoder; a text that changes whenever the vectors would change.
    source
        The file, for messages.

    Attributes
    ----------
    dimension, window
        Components of an embedding; most tokens read of one text.
    tokenizer
        What turns texts into ids.
    source
        The file that the graph was read from.
    sha256
        The digest of the graph.
    """

    def __init__(
        self,
        graph: bytes,
        tokenizer: SentenceTokenizer,
        *,
        name: str,
        fingerprint: str,
        source: Path,
    ) -> None:
        self.name = name
        self.fingerprint = fingerprint
        self.window = tokenizer.window
        self.tokenizer = tokenizer
        self.source = source
        self._session = open_session(graph, source, inputs=_INPUTS, outputs=(_OUTPUT,))
        self.sha256 = hashlib.sha256(graph).hexdigest()
        width = self._width()
        self.dimension = width if isinstance(width, int) else self.encode([""]).shape[1]

    def encode(self, sentences: list[str]) -> NDArray[np.float32]:
        """Return one row per sentence; what lies beyond the window is not read."""
        tokens = self.tokenizer.tokenize(sentences)
        if not tokens:
            return np.empty((0, self.dimension), dtype=np.float32)
        order, batches = self.tokenizer.batches(tokens, most=_BATCH_TOKENS, spare=None)
        vectors = np.concatenate([self._run(ids, mask) for ids, mask in batches])
        result = np.empty_like(vectors)
        result[order] = vectors
        return result

    def count_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return the number of tokens of each text, special tokens included, nothing cut."""
        return self.tokenizer.count(texts)

    def graph(self) -> bytes:
        """Return the graph that computes, read again; EncoderError where it is not there now."""
        try:
            graph = self.source.read_bytes()
        except OSError as error:
            raise self._lost(f"cannot be read any more ({error.strerror})") from None
        if hashlib.sha256(graph).hexdigest() != self.sha256:
            raise self._lost("was changed after it was loaded")
        return graph

    def _lost(self, how: str) -> EncoderError:
        return EncoderError(
            f"the graph {self.source} of the encoder {self.name!r} {how}; load the encoder again."
        )

    def _width(self) -> int | str | None:
        outputs = {output.name: output.shape for output in self._session.get_outputs()}
        shape: list[int | str | None] = outputs[_OUTPUT]
        if len(shape) != 2:
            raise ModelFormatError(
                f"{self.source} gives {_OUTPUT!r} of {len(shape)} dimension(s), not one row per "
                "sentence; export the model again."
            )
        return shape[1]

    def __deepcopy__(self, memo: dict[int, Any]) -> OnnxEncoder:
        return self  # nothing in it ever changes, and a session cannot be copied

    def _run(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> NDArray[np.float32]:
        # A row by itself is summed in another order than one among others, which the last bit of
        # its vector would show.
        rows = [0, 0] if len(ids) == 1 else slice(None)
        feed = dict(zip(_INPUTS, (ids[rows], mask[rows]), strict=True))
        (vectors,) = run_session(self._session, (_OUTPUT,), feed, self.source)
        expected = len(feed["ids"])
        if vectors.ndim != 2 or len(vectors) != expected or vectors.dtype != np.float32:
            raise EncoderError(
                f"{self.source} gave {vectors.dtype} of shape {vectors.shape} for {expected} "
                "sentences; it is no sentence encoder. Export it again."
            )
        return vectors[: len(ids)]


def open_session(
    graph: bytes, source: Path, *, inputs: Sequence[str], outputs: Sequence[str]
) -> InferenceSession:
    """Return a session for a graph whose weights are all inside it.

    Parameters
    ----------
    graph
        The content of an ONNX file.
    source
        The file, for messages.
    inputs, outputs
        The names that the graph must have.
    """
    try:
        import onnxruntime as ort
    except ImportError:
        raise MissingExtraError("A model in ONNX", "onnxruntime", extra="onnx") from None
    # Whatever names a file outside of the graph does so under this key.
    if b"location" in graph:
        raise ModelFormatError(f"{source} refers to other files; only whole graphs are read.")
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.intra_op_num_threads = _threads()
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = ort.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        # The runtime's errors share no base but this one.
        raise ModelFormatError(
            f"{source} cannot be opened by ONNX Runtime {ort.__version__} ({first_line(error)}); "
            "export the model again."
        ) from None
    named = [entry.name for entry in session.get_inputs()]
    given = [entry.name for entry in session.get_outputs()]
    if set(named) != set(inputs) or not set(outputs) <= set(given):
        raise ModelFormatError(
            f"{source} has the inputs {', '.join(named)} and the outputs {', '.join(given)}; "
            f"expected were {', '.join(inputs)} and {', '.join(outputs)}."
        )
    return session


def run_session(
    session: InferenceSession,
    outputs: Sequence[str],
    feed: Mapping[str, NDArray[Any]],
    source: Path,
) -> list[NDArray[Any]]:
    """Run a graph; what goes wrong is told in one line."""
    try:
        return list(session.run(list(outputs), dict(feed)))
    except Exception as error:
        raise ModelFormatError(
            f"{source} failed in ONNX Runtime ({first_line(error)}); export the model again."
        ) from None


def _threads() -> int:
    """Return how many threads to use: as many as OMP_NUM_THREADS says, or one for each core."""
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    if wanted.isascii() and wanted.isdigit() and int(wanted):
        return int(wanted)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
