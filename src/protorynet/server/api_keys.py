"""Who may call what: API keys in a file, and the scope that every route declares."""

import hashlib
import json
import logging
import os
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Literal, get_args

from fastapi import Request
from fastapi.security.utils import get_authorization_scheme_param
from starlette.datastructures import Headers

from protorynet.errors import InputError
from protorynet.files import alone_in, read_limited, write_atomically
from protorynet.records import moment, read_record
from protorynet.server.api_shapes import refusal

Scope = Literal["predict", "edit", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
"""What keys may allow, each scope with all before it."""

_PREFIX = "protorynet_"
_LARGEST_BYTES = 8 * 2**20
_LOG = logging.getLogger("protorynet.server")


@dataclass(frozen=True)
class Key:
    """What is known of a key: a public id to revoke it by, whose it is, and its digest.

    Keys are 256 random bits, so a slow hash would add nothing.
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
    """The keys in a file, read again whenever the file changes; of a key only its digest is kept.

    A file that is missing or damaged is an InputError, never one without keys.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stamp: tuple[int, ...] = ()
        self._keys: dict[str, Key] = {}
        self.last_problem = ""  # that was logged, so that it is logged once

    def keys(self) -> list[Key]:
        """Return all keys, oldest first."""
        return list(self._current().values())

    def find(self, secret: str) -> Key | None:
        """Return the key that a secret belongs to."""
        return self._current().get(_digest(secret))

    def create(self, scope: Scope, *, name: str = "") -> tuple[str, Key]:
        """Add a key and return its secret, which is kept nowhere, and what is kept.

        A file that does not exist is made.
        """
        secret = _PREFIX + secrets.token_urlsafe(32)
        key = Key(secrets.token_hex(4), name, scope, _digest(secret), moment())
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with alone_in(self.path.parent):
            known = self.keys() if os.path.lexists(self.path) else []
            self._write([*known, key])
        return secret, key

    def revoke(self, key_id: str) -> Key:
        """Remove a key by its id; a server that uses the file refuses it from then on."""
        with alone_in(self.path.parent):
            keys = self.keys()
            for key in keys:
                if key.id == key_id:
                    self._write([other for other in keys if other.id != key_id])
                    return key
        known = ", ".join(key.id for key in keys) or "none"
        raise InputError(f"{self.path} has no key {key_id!r}; its keys are {known}.")

    def _current(self) -> dict[str, Key]:
        """Return the keys by their digests, read again if the file changed."""
        try:
            status = self.path.stat()
            stamp = (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
            if stamp != self._stamp:
                self._keys = self._read()
                self._stamp, self.last_problem = stamp, ""
        except OSError as error:
            raise InputError(f"the keys in {self.path} cannot be read: {error.strerror}.") from None
        return self._keys

    def _read(self) -> dict[str, Key]:
        try:
            listed = json.loads(read_limited(self.path, _LARGEST_BYTES))["keys"]
            keys = [read_record(Key, entry) for entry in listed]
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise InputError(
                f"{self.path} is no file of keys: {error}. Make one with `protorynet keys create`."
            ) from None
        return {key.sha256: key for key in keys}

    def _write(self, keys: list[Key]) -> None:
        content = json.dumps({"keys": [asdict(key) for key in keys]}, indent=2) + "\n"
        write_atomically(self.path, content, is_private=True)
        self._stamp = ()


@cache
def require(scope: Scope) -> Callable[[Request], Awaitable[None]]:
    """Return a dependency that lets a request pass only with a key of a scope.

    Where the server has no keys, which it may only on loopback, everything passes. Use it as
    ``@router.post(…, dependencies=[Depends(require("edit"))])``.
    """

    async def check(request: Request) -> None:
        check_scope(request, scope)

    return check


async def public() -> None:
    """Declare, as a dependency, that a route is for everybody."""


def check_scope(request: Request, scope: Scope) -> None:
    """Refuse a request whose key does not reach as far as a scope."""
    keys: KeyFile | None = request.app.state.keys
    if keys is None:
        return
    key = known_key(keys, request.headers)
    if not key.allows(scope):
        raise refusal("scope_too_small", scope=scope, own=key.scope)


def known_key(keys: KeyFile, headers: Headers) -> Key:
    """Return the key that a request carries, or refuse with 401."""
    scheme, secret = get_authorization_scheme_param(headers.get("authorization"))
    try:
        key = keys.find(secret) if scheme.lower() == "bearer" and secret else None
    except InputError as error:
        if keys.last_problem != str(error):
            # The message names the file, which is for whoever runs the server.
            keys.last_problem = str(error)
            _LOG.error("keys cannot be read", extra={"reason": keys.last_problem})
        raise refusal("keys_unreadable") from None
    if key is None:
        given = "the key given is not known" if secret else "there is no key"
        raise refusal("key_needed", given=given)
    return key


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
