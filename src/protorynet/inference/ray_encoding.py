"""Encoding a corpus on all machines of a cluster, as a stage of Ray Data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from protorynet.encoders import Encoder
from protorynet.errors import EncoderError, ProtoryNetError
from protorynet.inference.ray_cluster import (
    Attempts,
    load_same_encoder,
    ray_session,
    start_here,
    worker_pool,
)
from protorynet.progress import progress_bar

__all__ = ["encode_with_ray"]

# Lost with a worker and done again; large enough that sending it costs nothing beside encoding.
_BLOCK = 2_048


def encode_with_ray(
    encoder: str,
    texts: Sequence[str],
    *,
    fingerprint: str | None = None,
    device: str = "auto",
    address: str | None = None,
    progress: bool = False,
) -> NDArray[np.float32]:
    """Return the vectors of sentences, one row each, in their order.

    Parameters
    ----------
    encoder
        The name or folder of an encoder that is on every machine of the cluster.
    texts
        The sentences, best each one once.
    fingerprint
        That of the encoder here; a machine where it is another one is refused.
    device
        Where the workers encode: ``"cpu"`` leaves the GPUs of a cluster alone.
    address
        ``HOST:PORT`` or ``"auto"`` for a cluster that is there; None starts a Ray on this machine,
        or takes the one that this process uses already.
    progress
        Whether to show progress on standard error.
    """
    # Like lengths together need little padding; the longest first, so that the last blocks, for
    # which some workers wait, are short.
    order = np.array(sorted(range(len(texts)), key=lambda row: -len(texts[row])), dtype=np.int64)
    blocks = [order[start : start + _BLOCK] for start in range(0, len(order), _BLOCK)]
    tables = [pa.table({"row": rows, "text": [texts[row] for row in rows]}) for rows in blocks]
    result = np.empty((len(texts), 0), dtype=np.float32)
    if not tables:
        return result
    with (
        ray_session(address) as ray,
        progress_bar(f"Encoding {len(texts):,} sentences", len(texts), enabled=progress) as advance,
    ):
        stage = ray.data.from_arrow(tables).map_batches(
            SentenceEncoder,
            fn_constructor_args=(encoder, fingerprint, start_here(ray, Attempts), device),
            **worker_pool(ray, len(tables), device),
        )
        try:
            for block in stage.iter_batches(batch_size=None, batch_format="pyarrow"):
                rows, vectors = _unpacked(block)
                if not result.size:
                    result = np.empty((len(texts), vectors.shape[1]), dtype=np.float32)
                result[rows] = vectors
                advance(len(rows))
        except ray.exceptions.RayError as error:
            raise ProtoryNetError(f"Ray gave up: {' '.join(str(error).split())[-300:]}") from None
    return result


class SentenceEncoder:
    """A worker: it loads the encoder once, then encodes block after block.

    Parameters
    ----------
    spec
        The name or folder of the encoder.
    fingerprint
        The fingerprint that it must have, if any.
    attempts
        The count of attempts that all workers share, if any.
    device
        Where to compute.
    """

    def __init__(
        self,
        spec: str,
        fingerprint: str | None = None,
        attempts: Any | None = None,
        device: str = "auto",
    ) -> None:
        self._spec = spec
        self._device = device
        self._fingerprint = fingerprint
        self._attempts = attempts
        self._encoder: Encoder | None = None

    def __call__(self, block: pa.Table) -> pa.Table:
        """Return the rows with their vectors; what goes wrong is an answer too."""
        try:
            self._begin(block)
            if self._encoder is None:
                self._encoder = load_same_encoder(
                    self._spec, self._fingerprint, device=self._device
                )
            vectors = self._encoder.encode(block.column("text").to_pylist())
        except ProtoryNetError as error:
            return _packed(block.column("row"), [b""] * len(block), str(error))
        rows = np.ascontiguousarray(vectors, dtype="<f4")
        return _packed(block.column("row"), [row.tobytes() for row in rows], "")

    def _begin(self, block: pa.Table) -> None:
        import ray

        row = block.column("row")[0].as_py()
        if self._attempts is None or ray.get(self._attempts.begin.remote(row)):
            return
        raise ProtoryNetError(
            f"{len(block)} sentences, that of row {row} the first, ended every worker that encoded "
            "them, most likely for want of memory; offer fewer CPUs per machine to Ray."
        )


def _packed(rows: pa.ChunkedArray, vectors: list[bytes], error: str) -> pa.Table:
    return pa.table(
        {"row": rows, "vector": pa.array(vectors, pa.binary()), "error": [error] * len(rows)}
    )


def _unpacked(block: pa.Table) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    if error := block.column("error")[0].as_py():
        raise EncoderError(error)
    vectors = b"".join(block.column("vector").to_pylist())
    return block.column("row").to_numpy(), np.frombuffer(vectors, "<f4").reshape(len(block), -1)
