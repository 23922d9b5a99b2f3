"""Who may call what: every route declares the scope that it needs, or that it is public."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from fastapi import Request
from fastapi.security.utils import get_authorization_scheme_param
from starlette.datastructures import Headers

from protorynet.errors import InputError
from protorynet.server.failures import ApiError
from protorynet.server.keyfile import SCOPES, Key, KeyFile, Scope

__all__ = ["check_scope", "declared_scope", "known_key", "public", "require"]

_Dependency = Callable[[Request], Awaitable[None]]
_LOG = logging.getLogger("protorynet.server")


def require(scope: Scope) -> _Dependency:
    """Return a dependency that lets a request pass only with a key of a scope.

    Where the server has no keys, which it may only on loopback, everything passes. Use it as
    ``@router.post(…, dependencies=[Depends(require("edit"))])``.
    """
    return _REQUIRED[scope]


async def public() -> None:
    """Declare, as a dependency, that a route is for everybody."""


def check_scope(request: Request, scope: Scope) -> None:
    """Refuse a request whose key does not reach as far as a scope."""
    keys: KeyFile | None = request.app.state.keys
    if keys is None:
        return
    key = known_key(keys, request.headers)
    if not key.allows(scope):
        raise ApiError(
            403,
            "scope_too_small",
            f"this needs a key of scope {scope!r}, but yours has {key.scope!r}.",
        )


def known_key(keys: KeyFile, headers: Headers) -> Key:
    """Return the key that a request carries, or refuse with 401."""
    scheme, secret = get_authorization_scheme_param(headers.get("authorization"))
    try:
        key = keys.find(secret) if scheme.lower() == "bearer" and secret else None
    except InputError as error:
        # The message names the file, which is for whoever runs the server.
        _LOG.error("keys cannot be read", extra={"reason": str(error)})
        raise ApiError(
            503, "keys_unreadable", "the server cannot read its keys, so nobody may enter."
        ) from None
    if key is None:
        given = "the key given is not known" if secret else "there is no key"
        raise ApiError(
            401,
            "key_needed",
            f"{given}; send a valid one as 'Authorization: Bearer KEY'.",
            headers={"WWW-Authenticate": "Bearer"},
        )
    return key


def declared_scope(dependencies: list[Callable[..., object]]) -> Scope | None:
    """Return the highest scope that a route's dependencies ask for; None where it is public.

    Examples
    --------
    >>> declared_scope([require("edit")]), declared_scope([public])
    ('edit', None)
    """
    asked = [scope for scope, dependency in _REQUIRED.items() if dependency in dependencies]
    if not asked and public not in dependencies:
        raise LookupError("the route declares no scope; add Depends(require(…)) or Depends(public)")
    return max(asked, key=SCOPES.index, default=None)


def _requirement(scope: Scope) -> _Dependency:
    async def check(request: Request) -> None:
        check_scope(request, scope)

    return check


_REQUIRED: dict[Scope, _Dependency] = {scope: _requirement(scope) for scope in SCOPES}
