"""Encoding a corpus on all machines of a cluster, as a stage of Ray Data."""

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

# Lost with a worker and done again; large enough that sending it costs nothing beside encoding.
_SENTENCES_PER_BLOCK = 2_048


def encode_with_ray(
    encoder: str,
    texts: Sequence[str],
    *,
    fingerprint: str | None = None,
    device: str = "auto",
    address: str | None = None,
    progress: bool = False,
) -> NDArray[np.float32]:
    """Return the vectors of sentences, best each one once, in their order.

    The encoder is on every machine of the cluster; one of another fingerprint is refused. The
    device ``"cpu"`` leaves the GPUs alone; the address is as `ray_session` takes it.
    """
    if not texts:
        return np.empty((0, 0), dtype=np.float32)
    # Like lengths together need little padding; some workers wait for the last blocks.
    order = np.array(sorted(range(len(texts)), key=lambda at: -len(texts[at])), dtype=np.int64)
    result = np.empty((len(texts), 0), dtype=np.float32)
    tables = [
        pa.table({"row": some, "text": [texts[at] for at in some]})
        for some in np.split(order, range(_SENTENCES_PER_BLOCK, len(order), _SENTENCES_PER_BLOCK))
    ]
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
                if error := block.column("error")[0].as_py():
                    raise EncoderError(error)
                content = b"".join(block.column("vector").to_pylist())
                vectors = np.frombuffer(content, "<f4").reshape(len(block), -1)
                if not result.size:
                    result = np.empty((len(texts), vectors.shape[1]), dtype=np.float32)
                result[block.column("row").to_numpy()] = vectors
                advance(len(block))
        except ray.exceptions.RayError as error:
            raise ProtoryNetError(f"Ray gave up: {' '.join(str(error).split())[-300:]}") from None
    return result


class SentenceEncoder:
    """A worker: it loads the encoder once, and answers every block, also with what goes wrong."""

    def __init__(
        self, spec: str, fingerprint: str | None = None, attempts: Any = None, device: str = "auto"
    ) -> None:
        self._which = (spec, fingerprint)
        self._device = device
        self._attempts = attempts
        self._encoder: Encoder | None = None

    def __call__(self, block: pa.Table) -> pa.Table:
        """Return the rows with their vectors, or with an error."""
        vectors, message = [b""] * len(block), ""
        try:
            self._count_attempt(block)
            if self._encoder is None:
                self._encoder = load_same_encoder(*self._which, device=self._device)
            encoded = self._encoder.encode(block.column("text").to_pylist())
            vectors = [vector.tobytes() for vector in np.ascontiguousarray(encoded, dtype="<f4")]
        except ProtoryNetError as error:
            message = str(error)
        columns = {"vector": pa.array(vectors, pa.binary()), "error": [message] * len(block)}
        return pa.table({"row": block.column("row"), **columns})

    def _count_attempt(self, block: pa.Table) -> None:
        import ray

        row = block.column("row")[0].as_py()
        if self._attempts is None or ray.get(self._attempts.begin.remote(row)):
            return
        raise ProtoryNetError(
            f"{len(block)} sentences, that of row {row} the first, ended every worker that encoded "
            "them, most likely for want of memory; offer fewer CPUs per machine to Ray."
        )
