"""What a server is given when it starts: which models, where to listen, and its limits."""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from protorynet.errors import InputError

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The most that one request may ask for; what is above is refused before any work.

    Sentences, and characters where words are asked for, are those of all its texts together; with
    words a sentence is encoded once for each. The first of several requests waits `window_seconds`
    for others to be computed with; one of more than `max_batch_characters` is computed alone. So
    many requests may wait for one model, and `seconds` is the time that one may take in all. With
    one key so many requests may be sent in a minute.
    """

    max_body_bytes: int = 4 * 2**20
    max_upload_bytes: int = 100 * 2**20
    max_texts: int = 100
    max_characters: int = 100_000
    max_sentences: int = 1_000
    max_sentences_with_words: int = 50
    max_characters_with_words: int = 5_000
    max_waiting: int = 256
    max_jobs: int = 16
    max_requests_per_minute: int = 6_000
    seconds: float = 30.0
    window_seconds: float = 0.004
    max_batch_characters: int = 50_000


@dataclass(frozen=True, kw_only=True)
class ServerConfig:
    """All that decides what a server does.

    Model directories stand by the names they are served under. Without `keys` everybody may do
    everything, so these are needed to listen on anything but this machine itself, unless `insecure`
    says that whoever can reach it may do everything. `data` is a table
    of labelled texts for the workbench, `database` one of surveys: a SQLite file or a URL.
    """

    models: Mapping[str, Path]
    host: str = "127.0.0.1"
    port: int = 8000
    keys: Path | None = None
    insecure: bool = False
    data: Path | None = None
    database: str | None = None
    device: str = "auto"
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        for name in self.models:
            if not _NAME.fullmatch(name):
                raise InputError(
                    f"{name!r} cannot be a model's name: it should be 1 to 64 letters, digits, "
                    "'-', '_' or '.', and begin and end with a letter or digit. Choose one with "
                    "--name NAME=PATH."
                )
        if not 0 <= self.port <= 65_535:
            raise InputError(f"port={self.port} should be between 0 and 65535.")
        if self.keys is None and not self.insecure and not is_loopback(self.host):
            raise InputError(
                f"host {self.host!r} can be reached by others, so API keys are needed. Make one "
                "with `protorynet keys create --scope predict KEYS` and give --keys KEYS, leave "
                "--host out to serve this machine alone, or let everybody do everything with "
                "--insecure."
            )


def is_loopback(host: str) -> bool:
    """Say whether an address, such as ``::1``, is reached from this machine only."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def workbench_folder(model: Path) -> Path:
    """Return the folder beside a model directory that holds what the workbench keeps of it."""
    return model.with_name(f"{model.name}.workbench")


def own_table(model: Path) -> Path:
    """Return where a model's own labelled texts lie, if it has any: served where none are given."""
    return workbench_folder(model) / "texts.csv"


def model_name(folder: Path) -> str:
    """Return the name that a model directory is served under where none is given: ``my-hotel``."""
    own = folder.absolute().name
    return re.sub(r"[^A-Za-z0-9._-]+", "-", own).strip("._-")[:64].rstrip("._-") or "model"
