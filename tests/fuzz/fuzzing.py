"""Every parser of untrusted bytes, fed with mutations of what it should read.

``python tests/fuzz/fuzzing.py --minutes 10 [TARGET …]`` goes on for so long with each target, with
mutations drawn at random; ``--atheris TARGET``, where that is installed, looks for new paths.
An input may be read or refused with one of our errors. Any other error, an input that takes over
five seconds, or a gigabyte of memory is a bug: it is kept below ``tests/fuzz/corpus``, whose files
are replayed by the test suite.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import hashlib
import io
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

CORPUS = Path(__file__).parent / "corpus"
MODEL = Path(__file__).parents[1] / "golden" / "v2" / "texts" / "model"
SECONDS_PER_INPUT, MOST_MEMORY_KB = 5, 2**20
FILES = {
    "model_directory": ["config.json", "model.safetensors", "prototypes.json", "automata.json"],
    "encoder_folder": [
        *("modules.json", "config.json", "1_Pooling/config.json"),
        *("sentence_bert_config.json", "tokenizer.json"),
    ],
    "tables": ["t.csv", "t.tsv", "t.jsonl", "t.parquet", "t.csv.gz"],
    "request_bodies": ["predict", "explain", "edits", "mark", "publish"],
    "settings_file": ["s.toml", "s.json"],
    "embedding_cache": [".keys.npy", ".vectors.npy"],
}
"""Of several files, the first byte of an input says which one the rest is."""
NASTY = [
    b"",
    b"\xff\xfe\x00",
    b"\xef\xbb\xbf{}",
    b"[" * 100_000,
    b'{"a":' * 50_000,
    b"1" * 5_000,
    b"1e999",
    b"NaN",
    b"null",
    b'{"texts": ["\\ud800", "\\u0000"]}',
    b'{"keys": [{"id": {}, "id": 1}]}',
    b"\x00" * 4_096,
    b'"' * 4_095,
    b'text,label\n"a\nb,1\n',
    b"text\tlabel\r\n\r\r\n\x0b\x1c\n",
    b"a" * 70_000 + b"," + b"b" * 70_000,
    gzip.compress(b"text,label\n" + b"a,1\n" * 200_000),
    b"PAR1" + b"\xff" * 64 + b"PAR1",
    b"\x93NUMPY\x01\x00\x10\x00{'descr': lambda",
    np.uint64(2**63).tobytes() + b"{}",
]


def _folder() -> Path:
    """Return a folder that is empty at every call."""
    folder = Path(tempfile.gettempdir()) / f"protorynet-fuzz-{os.getpid()}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def _split(target: str, data: bytes) -> tuple[str, bytes]:
    names = FILES[target]
    return names[data[0] % len(names)] if data else names[0], data[1:]


def model_directory(data: bytes) -> None:
    """One file of a model directory, with a checksum that fits."""
    from protorynet.storage import load_model

    folder = shutil.copytree(MODEL, _folder() / "model")
    name, content = _split("model_directory", data)
    (folder / name).write_bytes(content)
    _forge(folder, "config.json", name, content)
    load_model(folder)


def _forge(folder: Path, config: str, name: str, content: bytes) -> None:
    """Make the checksums right, as an attacker would."""
    from protorynet.records import digest_values

    try:
        values = json.loads((folder / config).read_bytes())
        if name != config:
            values["sha256"][name] = hashlib.sha256(content).hexdigest()
        values["sha256"][config] = digest_values(values)
        (folder / config).write_text(json.dumps(values))
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        pass  # it is beyond forging


def export_folder(data: bytes) -> None:
    """export.json, with a checksum that fits."""
    from protorynet.inference import read_exported

    folder = _folder()
    (folder / "export.json").write_bytes(data)
    _forge(folder, "export.json", "export.json", data)
    read_exported(folder)


def encoder_folder(data: bytes) -> None:
    """One file of an encoder's folder."""
    from protorynet.encoders.encoder_folder import check_config, read_layout
    from protorynet.encoders.sentence_tokenizer import parse_tokenizer

    folder = _folder()
    (folder / "1_Pooling").mkdir()
    for name, content in zip(FILES["encoder_folder"], _ENCODER, strict=True):
        (folder / name).write_bytes(content)
    name, content = _split("encoder_folder", data)
    (folder / name).write_bytes(content)
    read_layout(folder)
    check_config(folder / "config.json")
    with suppress(ValueError):  # as `read_tokenizer` expects
        parse_tokenizer((folder / "tokenizer.json").read_bytes())


_ENCODER = (
    b'[{"idx": 0, "path": "", "type": "sentence_transformers.models.Transformer"}, '
    b'{"idx": 1, "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]',
    b'{"model_type": "bert", "hidden_size": 16, "vocab_size": 20}',
    b'{"pooling_mode": "mean"}',
    b'{"max_seq_length": 9, "do_lower_case": true}',
    b'{"version": "1.0", "added_tokens": [], "model": {"type": "WordLevel", '
    b'"vocab": {"[UNK]": 0, "room": 1}, "unk_token": "[UNK]"}}',
)


def tables(data: bytes) -> None:
    """A table in each format."""
    from protorynet import read_table

    name, content = _split("tables", data)
    path = _folder() / name
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        read_table(path)


def request_bodies(data: bytes) -> None:
    """The body of a request, through the guard and the validation of a route."""
    name, content = _split("request_bodies", data)
    answer = asyncio.run(_post(f"/{name}", content))
    if answer >= 500:
        raise RuntimeError(f"answered with {answer}")


async def _post(path: str, content: bytes) -> int:
    import httpx

    transport = httpx.ASGITransport(_bodies_app(), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        headers = {"Content-Type": "application/json"}
        return (await client.post(path, content=content, headers=headers)).status_code


@cache
def _bodies_app() -> Any:
    from fastapi import FastAPI

    from protorynet.server import Limits
    from protorynet.server.api_shapes import handle_errors
    from protorynet.server.guard import Guard, Metrics
    from protorynet.server.model_routes import ExplainBody, PredictBody
    from protorynet.server.workbench.draft_routes import EditsBody, PublishBody
    from protorynet.server.workbench.mistakes import MarkBody

    app = FastAPI()
    handle_errors(app)
    app.add_middleware(Guard, keys=None, limits=Limits(), metrics=Metrics())
    bodies = PredictBody, ExplainBody, EditsBody, MarkBody, PublishBody
    for name, kind in zip(FILES["request_bodies"], bodies, strict=True):

        def route(body: Any) -> dict[str, Any]:
            if isinstance(body, EditsBody):
                body.edits()
            return {}

        route.__annotations__["body"] = kind
        app.post(f"/{name}")(route)
    return app


def key_file(data: bytes) -> None:
    """A file of API keys."""
    from protorynet.server import KeyFile

    path = _folder() / "keys.json"
    path.write_bytes(data)
    KeyFile(path).keys()


def survey_file(data: bytes) -> None:
    """A survey's file."""
    from protorynet_lab.survey import read_survey

    path = _folder() / "survey.json"
    path.write_bytes(data)
    read_survey(path)


def settings_file(data: bytes) -> None:
    """Settings as TOML or JSON."""
    from protorynet.settings import load_settings

    name, content = _split("settings_file", data)
    path = _folder() / name
    path.write_bytes(content)
    load_settings(path)


def embedding_cache(data: bytes) -> None:
    """Keys or vectors of a cached segment: never believed where they are wrong."""
    from protorynet.encoders import EmbeddingCache

    cache, sentences = EmbeddingCache(_folder()), [f"Sentence {n}." for n in range(64)]
    vectors = np.arange(192, dtype=np.float32).reshape(64, 3)
    cache.put(_Named(), sentences, vectors)
    ending, content = _split("embedding_cache", data)
    next(cache.folder.rglob(f"*{ending}")).write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, given = EmbeddingCache(cache.folder).get(_Named(), sentences)
    assert (given.reshape(-1, 3) == vectors[found]).all()


class _Named:
    name = fingerprint = "named"

    def encode(self, sentences: list[str]) -> Any: ...


TARGETS: dict[str, Callable[[bytes], None]] = {
    each.__name__: each
    for each in (
        *(model_directory, export_folder, encoder_folder, tables, request_bodies, key_file),
        *(survey_file, settings_file, embedding_cache),
    )
}


def seeds(target: str) -> list[bytes]:
    """Return well-formed inputs, nasty ones, and those that were a bug once."""
    kept = [path.read_bytes() for path in sorted((CORPUS / target).glob("*"))]
    which = [bytes([number]) for number in range(len(FILES.get(target, ())))] or [b""]
    return [*_well_formed(target), *(first + each for first in which for each in NASTY), *kept]


def _well_formed(target: str) -> Iterator[bytes]:
    if target == "model_directory":
        for number, name in enumerate(FILES[target]):
            yield bytes([number]) + (MODEL / name).read_bytes()
    elif target == "encoder_folder":
        yield from (bytes([number]) + content for number, content in enumerate(_ENCODER))
    elif target == "tables":
        import pyarrow as pa
        import pyarrow.parquet as pq

        sink = io.BytesIO()
        pq.write_table(pa.table({"text": ["A room.", "b"], "label": ["x", "y"]}), sink)
        csv = b'text,label,split\n"A ""room"".",x,train\nb,y,test\n'
        lines = b'{"text": "A room.", "label": "x"}\n{"text": "b", "label": 2}\n'
        contents = csv, csv.replace(b",", b"\t"), lines, sink.getvalue(), gzip.compress(csv)
        yield from (bytes([number]) + each for number, each in enumerate(contents))
    elif target == "request_bodies":
        yield from (bytes([number]) + b'{"texts": ["A room."]}' for number in (0, 1))
        yield b"\x02" + b'{"drop": [1], "rename": {"2": "x"}, "merge": [[1, 2]], "revision": 0}'
        yield b"\x03" + b'{"wrong_label": true, "note": "x"}'
        yield b"\x04" + b'{"note": "x"}'
    elif target == "key_file":
        key = {"id": "ab", "name": "", "scope": "edit", "sha256": "0" * 64, "created": "now"}
        yield json.dumps({"keys": [key]}).encode()
    elif target == "survey_file":
        yield b'{"format_version": 1, "id": "a", "title": "t", "seed": 0, "models": []}'
    elif target == "settings_file":
        yield b"\x00" + b'alpha = 0.1\nselection = "paper"\nexact = false\nmembers = 1\n'
        yield b"\x01" + b'{"alpha": 0.1, "epochs": 2}'
    elif target == "embedding_cache":
        for number, array in enumerate([np.ones((64, 3), np.uint64), np.ones((64, 3), np.float32)]):
            sink = io.BytesIO()
            np.save(sink, array)
            yield bytes([number]) + sink.getvalue()


def feed(target: str, data: bytes) -> None:
    """Give one input to a target; an AssertionError, which keeps the input, where that is a bug."""
    from protorynet.errors import ProtoryNetError

    try:
        with _limited():
            TARGETS[target](data)
    except ProtoryNetError as error:
        if "\n" in str(error):
            raise _bug(target, data, "its message has several lines") from error
    except Exception as error:
        raise _bug(target, data, f"{type(error).__name__}: {error}"[:200]) from error
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if used > _memory_before() + MOST_MEMORY_KB:
        raise _bug(target, data, f"{used:,} kB of memory")


@cache
def _memory_before() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@contextmanager
def _limited() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError(f"it took over {SECONDS_PER_INPUT} seconds")

    # By the processor's time, for the machine may be busy with other things.
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS_PER_INPUT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _bug(target: str, data: bytes, what: str) -> AssertionError:
    path = CORPUS / target / hashlib.sha256(data).hexdigest()[:16]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return AssertionError(f"{target}: {what}; the input is kept in {path}")


def mutate(data: bytes, others: list[bytes], draw: random.Random) -> bytes:
    """Return an input with a few changes: bits, bytes, pieces of others, numbers and tokens."""
    result = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 4, 16))):
        at = draw.randrange(len(result) + 1)
        length = min(draw.choice((0, 1, 1, 4, 30)), len(result) - at)
        other = draw.choice(others)
        start = draw.randrange(len(other) + 1)
        piece = draw.choice(
            [
                bytes([draw.randrange(256)]),
                other[start : start + draw.choice((1, 8, 60))],
                *(b'"', b"{", b"[", b"}", b"]", b",", b"0", b"-1", b"1e400", b"9" * 20, b"null"),
                *(b"true", b'""', b"[]", b"{}", b"\x00", b"\n", b"\\ud800", b"NaN", b"\xff"),
            ]
        )
        result[at : at + length] = piece
    return bytes(result[: 2**20])


def replay(target: str) -> None:
    """Feed the inputs to begin from."""
    with suppress(Exception):
        TARGETS[target](seeds(target)[0])  # what is imported must not count
    for each in seeds(target):
        feed(target, each)


def fuzz(target: str, seconds: float, seed: int = 0) -> int:
    """Feed mutations for so many seconds; return how many."""
    draw, pool, count = random.Random(seed), seeds(target), 0
    replay(target)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        feed(target, mutate(draw.choice(pool), pool, draw))
        count += 1
    return count + len(pool)


def fuzz_by_coverage(target: str, seconds: float) -> None:
    """The same with atheris, which ends the process."""
    import atheris

    folder = tempfile.mkdtemp(prefix="protorynet-corpus-")
    for number, each in enumerate(seeds(target)):
        (Path(folder) / str(number)).write_bytes(each)
    with atheris.instrument_imports(include=["protorynet", "protorynet_lab"]):
        replay(target)
    limits = [f"-max_total_time={seconds:.0f}", f"-timeout={12 * SECONDS_PER_INPUT}"]
    command = [sys.argv[0], *limits, "-rss_limit_mb=0", "-print_final_stats=1", folder]
    atheris.Setup(command, lambda data: feed(target, data))
    atheris.Fuzz()


def main() -> None:
    """Fuzz each target, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", choices=[[], *TARGETS], default=[])
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--atheris", action="store_true", help="one target, by coverage")
    given = parser.parse_args()
    for target in given.targets or TARGETS:
        if given.atheris:
            fuzz_by_coverage(target, given.minutes * 60)
        began = time.monotonic()
        count = fuzz(target, given.minutes * 60, given.seed)
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        minutes = (time.monotonic() - began) / 60
        print(
            f"{target}: {count:,} inputs in {minutes:.1f} minutes, at most {used:,} MB", flush=True
        )


if __name__ == "__main__":
    main()
