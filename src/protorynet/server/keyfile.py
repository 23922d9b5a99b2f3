"""API keys in a file: only their digests are kept, and a key is shown once, when it is made."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import tempfile
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, get_args

from protorynet.errors import InputError
from protorynet.records import read_record

__all__ = ["SCOPES", "Key", "KeyFile", "Scope", "checked_scope", "digest"]

Scope = Literal["predict", "edit", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
"""What keys may allow, each scope with all before it."""

_PREFIX = "protorynet_"


@dataclass(frozen=True)
class Key:
    """What is known of a key.

    Parameters
    ----------
    id
        A short public number, to revoke it by.
    name
        Whose it is.
    scope
        What it allows: ``"predict"``, ``"edit"`` (and predict) or ``"admin"`` (everything).
    sha256
        Its digest. Keys are 256 random bits, so a slow hash would add nothing.
    created
        When it was made, in UTC.
    """

    id: str
    name: str
    scope: Scope
    sha256: str
    created: str

    def allows(self, scope: Scope) -> bool:
        """Say whether the key is enough for what needs a scope."""
        return self.scope in SCOPES[SCOPES.index(scope) :]


class KeyFile:
    """The keys in a file, read again whenever the file changes.

    Parameters
    ----------
    path
        The file; one that does not exist holds no keys.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     keys = KeyFile(Path(folder) / "keys.json")
    ...     secret, key = keys.create("edit", name="alice")
    ...     keys.find(secret) == key, keys.find("guess"), key.allows("predict"), key.allows("admin")
    (True, None, True, False)
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stamp: tuple[int, int, int] | None = None
        self._keys: dict[str, Key] = {}

    def keys(self) -> list[Key]:
        """Return all keys, oldest first."""
        self._refresh()
        return list(self._keys.values())

    def find(self, secret: str) -> Key | None:
        """Return the key that a secret belongs to."""
        self._refresh()
        return self._keys.get(digest(secret))

    def create(self, scope: Scope, *, name: str = "") -> tuple[str, Key]:
        """Add a key and return its secret, which is kept nowhere, and what is kept."""
        secret = _PREFIX + secrets.token_urlsafe(32)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        key = Key(secrets.token_hex(4), name, scope, digest(secret), now)
        self._write([*self.keys(), key])
        return secret, key

    def revoke(self, key_id: str) -> Key:
        """Remove a key by its id; a server that uses the file refuses it from then on."""
        keys = self.keys()
        for key in keys:
            if key.id == key_id:
                self._write([other for other in keys if other.id != key_id])
                return key
        known = ", ".join(key.id for key in keys) or "none"
        raise InputError(f"{self.path} has no key {key_id!r}; its keys are {known}.")

    def _refresh(self) -> None:
        try:
            status = self.path.stat()
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
            if stamp != self._stamp:
                self._keys = self._read()
                self._stamp = stamp
        except FileNotFoundError:
            self._keys, self._stamp = {}, None
        except OSError as error:
            raise InputError(f"{self.path} cannot be read: {error.strerror}.") from None

    def _read(self) -> dict[str, Key]:
        try:
            listed = json.loads(self.path.read_bytes())["keys"]
            keys = [read_record(Key, entry) for entry in listed]
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise InputError(
                f"{self.path} is no file of keys: {error}. Make one with `protorynet keys create`."
            ) from None
        return {key.sha256: key for key in keys}

    def _write(self, keys: list[Key]) -> None:
        content = json.dumps({"keys": [asdict(key) for key in keys]}, indent=2) + "\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # Temporary files are made for their owner alone, and stay so.
        handle, temporary = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).replace(self.path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
            raise
        self._stamp = None


def checked_scope(given: str) -> Scope:
    """Return a scope by its name, or refuse it.

    Examples
    --------
    >>> checked_scope("root")
    Traceback (most recent call last):
    ...
    protorynet.errors.InputError: scope 'root' is not one of predict, edit, admin.
    """
    for scope in SCOPES:
        if scope == given:
            return scope
    raise InputError(f"scope {given!r} is not one of {', '.join(SCOPES)}.")


def digest(secret: str) -> str:
    """Return what is kept of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
