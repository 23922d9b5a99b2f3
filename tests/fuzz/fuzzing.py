"""Every parser of untrusted bytes, fed with mutations of what it should read.

``python tests/fuzz/fuzzing.py --minutes 10 [TARGET …]`` goes on for so long with each target, each
in a process of its own: guided by coverage where atheris is installed, else with mutations drawn at
random. It prints how many inputs there were, the longest one's time and the most memory.
An input may be read or refused with one of our errors. Any other error, an input that takes over
five seconds, or a gigabyte of memory is a bug: it is kept in ``corpus``, whose files, well-formed
and nasty, are where mutations begin, and are replayed by the test suite.
"""

import argparse
import asyncio
import gzip
import hashlib
import io
import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

CORPUS = Path(__file__).parent / "corpus"
MODEL = Path(__file__).parents[1] / "golden" / "v2" / "texts" / "model"
SECONDS_PER_INPUT, MOST_MEMORY_KB = 5, 2**20
FILES = {
    "model_directory": [
        *("config.json", "model.safetensors", "prototypes.json", "automata.json", "words.json")
    ],
    "encoder_folder": ["modules", "config", "pooling", "options", "tokenizer"],
    "tables": ["t.csv", "t.tsv", "t.jsonl", "t.parquet", "t.csv.gz", "t.xlsx", "sheet.xml"],
    "request_bodies": ["predict", "explain", "edits", "mark", "publish"],
    "settings_file": ["s.toml", "s.json"],
    "embedding_cache": [".keys.npy", ".vectors.npy"],
}
"""Of several files, the first byte of an input says which one the rest is."""
COUNTED = multiprocessing.RawArray("d", 2)
"""Inputs so far and the seconds of the longest: in memory that the parent process reads."""
_LARGE = [b"", b"[" * 100_000, b'{"a":' * 50_000, bytes(4_096), b"a" * 70_000 + b",b"]
_LARGE.append(gzip.compress(b"text,label\n" + b"a,1\n" * 200_000))
_LARGE.append(b"<p a=" + b" " * 50_000)
_SHEET = "xl/worksheets/sheet1.xml"


def _split(target: str, data: bytes) -> tuple[str, bytes]:
    names = FILES[target]
    return names[data[0] % len(names)] if data else names[0], data[1:]


def model_directory(folder: Path, data: bytes) -> None:
    """One file of a model directory, with a checksum that fits."""
    from protorynet.storage import load_model

    shutil.copytree(MODEL, folder, dirs_exist_ok=True)
    name, content = _split("model_directory", data)
    (folder / name).write_bytes(content)
    _forge(folder, "config.json", name, content)
    load_model(folder)


def export_folder(folder: Path, data: bytes) -> None:
    """export.json, with a checksum that fits."""
    from protorynet.inference import read_exported

    (folder / "export.json").write_bytes(data)
    _forge(folder, "export.json", "export.json", data)
    read_exported(folder)


def _forge(folder: Path, config: str, name: str, content: bytes) -> None:
    """Make the checksums right, as an attacker would."""
    from protorynet.records import digest_values

    with suppress(ValueError, TypeError, LookupError, AttributeError, RecursionError):
        values = json.loads((folder / config).read_bytes())
        if name != config:
            values["sha256"][name] = hashlib.sha256(content).hexdigest()
            values["words"] = int(name == "words.json")
        values["sha256"][config] = digest_values(values)
        (folder / config).write_text(json.dumps(values))


def encoder_folder(folder: Path, data: bytes) -> None:
    """One file of an encoder's folder."""
    from protorynet.encoders.encoder_folder import check_config, read_layout
    from protorynet.encoders.sentence_tokenizer import parse_tokenizer

    places = ["modules.json", "config.json", "1_Pooling/config.json"]
    places += ["sentence_bert_config.json", "tokenizer.json"]
    which, content = _split("encoder_folder", data)
    (folder / "1_Pooling").mkdir()
    for name, place in zip(FILES["encoder_folder"], places, strict=True):
        whole = (CORPUS / "encoder_folder" / name).read_bytes()[1:]
        (folder / place).write_bytes(content if name == which else whole)
    read_layout(folder)
    check_config(folder / "config.json")
    with suppress(ValueError):  # as `read_tokenizer` expects
        parse_tokenizer((folder / "tokenizer.json").read_bytes())


def tables(folder: Path, data: bytes) -> None:
    """A table in each format, or the sheet of a workbook that is whole otherwise."""
    from protorynet import read_table

    name, content = _split("tables", data)
    if name == "sheet.xml":
        name, content = "t.xlsx", _pack_sheet(content)
    (folder / name).write_bytes(content)
    read_table(folder / name)


def _pack_sheet(sheet: bytes) -> bytes:
    whole, packed = io.BytesIO((CORPUS / "tables" / "xlsx").read_bytes()[1:]), io.BytesIO()
    with zipfile.ZipFile(whole) as source, zipfile.ZipFile(packed, "w") as target:
        for name in source.namelist():
            target.writestr(name, sheet if name == _SHEET else source.read(name))
    return packed.getvalue()


def documents(folder: Path, data: bytes) -> None:
    """A text, split into sentences."""
    from protorynet.data import split_documents

    split_documents([data.decode("utf-8", "replace")], on_empty="skip")


def request_bodies(folder: Path, data: bytes) -> None:
    """The body of a request, through the guard and the validation of a route."""
    name, content = _split("request_bodies", data)
    status = asyncio.run(_post(f"/{name}", content))
    assert status < 500, f"answered with {status}"


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

        def route(body: Any) -> bool:
            return bool(body.edits()) if isinstance(body, EditsBody) else True

        route.__annotations__["body"] = kind
        app.post(f"/{name}")(route)
    return app


def key_file(folder: Path, data: bytes) -> None:
    """A file of API keys."""
    from protorynet.server import KeyFile

    (folder / "keys.json").write_bytes(data)
    KeyFile(folder / "keys.json").keys()


def survey_file(folder: Path, data: bytes) -> None:
    """A survey's file."""
    from protorynet_lab.survey import read_survey

    (folder / "survey.json").write_bytes(data)
    read_survey(folder / "survey.json")


def settings_file(folder: Path, data: bytes) -> None:
    """Settings as TOML or JSON."""
    from protorynet.settings import load_settings

    name, content = _split("settings_file", data)
    (folder / name).write_bytes(content)
    load_settings(folder / name)


def embedding_cache(folder: Path, data: bytes) -> None:
    """Keys or vectors of a cached segment: never believed where they are wrong."""
    from protorynet.encoders import EmbeddingCache

    sentences = [f"Sentence {number}." for number in range(64)]
    vectors = np.arange(192, dtype=np.float32).reshape(64, 3)
    encoder: Any = argparse.Namespace(name="named", fingerprint="named")
    EmbeddingCache(folder).put(encoder, sentences, vectors)
    ending, content = _split("embedding_cache", data)
    next(folder.rglob(f"*{ending}")).write_bytes(content)
    found, given = EmbeddingCache(folder).get(encoder, sentences)
    assert (given.reshape(-1, 3) == vectors[found]).all(), "a wrong vector was believed"


TARGETS: dict[str, Callable[[Path, bytes], None]] = {
    each.__name__: each
    for each in (
        *(model_directory, export_folder, encoder_folder, tables, request_bodies, key_file),
        *(survey_file, settings_file, embedding_cache, documents),
    )
}


def seeds(target: str) -> list[bytes]:
    """Return the inputs to begin from: well-formed, nasty, and what was a bug once."""
    own = [path.read_bytes() for path in sorted((CORPUS / target).glob("*"))]
    if target == "model_directory":
        files = [MODEL / name for name in FILES[target]]
        own += [bytes([at]) + file.read_bytes() for at, file in enumerate(files) if file.exists()]
    nasty = [*_LARGE, *(path.read_bytes() for path in sorted((CORPUS / "any").glob("*")))]
    which = [bytes([number]) for number in range(len(FILES.get(target, ())))] or [b""]
    return own + [first + each for first in which for each in nasty]


def replay(target: str) -> int:
    """Feed the inputs to begin from; return how many."""
    _run(target, seeds(target)[0])  # what is imported must not count
    for each in seeds(target):
        feed(target, each)
    return len(seeds(target))


def feed(target: str, data: bytes) -> None:
    """Give one input to a target; an AssertionError, which keeps the input, where that is a bug."""
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    with _limited() as interruptions:
        problem = _run(target, data)
    COUNTED[:] = [COUNTED[0] + 1, max(COUNTED[1], time.process_time() - began)]
    if interruptions:  # whatever the target made of them
        problem = f"it took over {SECONDS_PER_INPUT} seconds"
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    if grown > MOST_MEMORY_KB:
        problem = f"{grown:,} kB of memory"
    if problem:
        path = CORPUS / target / hashlib.sha256(data).hexdigest()[:16]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        raise AssertionError(f"{target}: {problem}; the input is kept in {path}")


def _run(target: str, data: bytes) -> str:
    from protorynet.errors import ProtoryNetError

    folder = Path(tempfile.gettempdir()) / f"protorynet-fuzz-{os.getpid()}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            TARGETS[target](folder, data)
    except ProtoryNetError as error:
        return "its message has several lines" if "\n" in str(error) else ""
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:200]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return ""


@contextmanager
def _limited() -> Iterator[list[TimeoutError]]:
    interruptions: list[TimeoutError] = []

    def stop(*_: object) -> None:
        interruptions.append(TimeoutError())
        raise interruptions[-1]

    # By the processor's time, for the machine may be busy with other things.
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS_PER_INPUT)
    try:
        yield interruptions
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


_TOKENS = b'" { [ } ] , 0 -1 1e400 99999999999999999999 null true "" [] {} \\ud800 NaN'.split()


def mutate(data: bytes, others: list[bytes], draw: random.Random) -> bytes:
    """Return an input with a few changes: bytes, pieces of others, tokens of JSON."""
    result = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 4, 16))):
        at = draw.randrange(len(result) + 1)
        length = min(draw.choice((0, 1, 1, 4, 30)), len(result) - at)
        other = draw.choice(others)
        start = draw.randrange(len(other) + 1)
        some = other[start : start + draw.choice((1, 8, 60))]
        result[at : at + length] = draw.choice([draw.randbytes(1), some, draw.choice(_TOKENS)])
    return bytes(result[: 2**20])


def fuzz(target: str, seconds: float, seed: int = 0, least: int = 0) -> int:
    """Replay, then feed mutations for so many seconds and at least so many; return how many."""
    draw, pool, count = random.Random(seed), seeds(target), replay(target)
    until, least = time.monotonic() + seconds, count + least
    while time.monotonic() < until or count < least:
        feed(target, mutate(draw.choice(pool), pool, draw))
        count += 1
    return count


def fuzz_by_coverage(target: str, seconds: float, seed: int = 0) -> None:
    """The same with atheris, which ends the process."""
    import atheris

    folder = tempfile.mkdtemp(prefix="protorynet-corpus-")
    for number, each in enumerate(seeds(target)):
        (Path(folder) / str(number)).write_bytes(each)
    with atheris.instrument_imports(include=["protorynet", "protorynet_lab"]):
        replay(target)
    limits = [f"-max_total_time={seconds:.0f}", f"-timeout={12 * SECONDS_PER_INPUT}"]
    command = [sys.argv[0], *limits, f"-seed={seed}", "-rss_limit_mb=0", "-verbosity=0", folder]
    atheris.Setup(command, lambda data: feed(target, data))
    atheris.Fuzz()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", default=list(TARGETS))
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for name in given.targets:
        COUNTED[:] = [0, 0]
        how = fuzz_by_coverage if find_spec("atheris") else fuzz
        task = name, given.minutes * 60, given.seed
        process = multiprocessing.get_context("fork").Process(target=how, args=task)
        process.start()
        _, status, used = os.wait4(process.pid or 0, 0)
        print(
            f"{name}: {COUNTED[0]:,.0f} inputs in {given.minutes:g} minutes ({how.__name__}), "
            f"longest {COUNTED[1]:.2f} s, most memory {used.ru_maxrss // 1024:,} MB",
            flush=True,
        )
        if status:
            sys.exit(f"{name} failed; the input is kept in {CORPUS / name}")
