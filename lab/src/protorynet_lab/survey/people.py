"""Invitations, participants and their answers, and the tokens that stand for them."""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass

from protorynet_lab.survey.orders import Kind

__all__ = ["Answer", "Invitation", "Participant", "digest", "is_token", "new_token"]

_TOKEN = re.compile(r"[A-Za-z0-9_-]{22,64}", re.ASCII)


def new_token() -> str:
    """Return a secret of 128 bits that fits into a link."""
    return secrets.token_urlsafe(16)


def is_token(text: str) -> bool:
    """Whether a text looks like a token; anything else is not even looked up."""
    return _TOKEN.fullmatch(text) is not None


@dataclass(frozen=True)
class Invitation:
    """A link that lets people take a survey."""

    id: int
    survey: str
    token: str


@dataclass(frozen=True)
class Participant:
    """Who takes a survey.

    Parameters
    ----------
    id, survey
        Their number in the database, and the survey's id.
    kind, number
        Their group, and their place in it, counted from 0.
    model
        The model they are assigned to.
    judge
        What answers in place of a person; None for people.
    is_finished
        Whether they have answered everything.
    """

    id: int
    survey: str
    kind: Kind
    number: int
    model: str
    judge: str | None
    is_finished: bool


@dataclass(frozen=True)
class Answer:
    """What was chosen, and how easy that was (1 to 5)."""

    choice: str | None
    ease: int | None


def digest(token: str) -> str:
    """Return what a token is looked up by; the token cannot be told from it."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
