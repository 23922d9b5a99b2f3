"""How a command fails: one line that says what to do, and the right exit code."""

from __future__ import annotations

import os
import sys
import traceback

import typer

from protorynet.cli.output import error_line
from protorynet.errors import (
    CheckpointError,
    EncoderError,
    InputError,
    MissingExtraError,
    ModelFormatError,
)

__all__ = ["WorkFailed", "end_badly", "silence_output"]

_FAILED, _BAD_INPUT = 1, 2
_MENDABLE = (InputError, EncoderError, ModelFormatError, CheckpointError, MissingExtraError)
# What an environment for exported models does without.
_LEFT_OUT = ("pandas", "sklearn", "scipy", "torch", "transformers")
# Typer brings its own copy of click, or uses the one installed: only this name is the same.
_UsageError = typer.BadParameter.__mro__[1]


class WorkFailed(Exception):  # noqa: N818
    """The work could not be done, for a reason that the message tells in full."""


def end_badly(error: Exception) -> int:
    """Print the line for an error, and return the exit code."""
    if os.environ.get("PROTORYNET_DEBUG"):
        traceback.print_exception(error)
    if isinstance(error, OSError):
        # What is left in a buffer that cannot be written would complain again at exit.
        silence_output()
    error_line(_described(error))
    is_mendable = isinstance(error, (*_MENDABLE, _UsageError))
    return _BAD_INPUT if is_mendable else _FAILED


def silence_output() -> None:
    """Send what is still to be written to standard output nowhere."""
    try:
        sys.stdout.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _described(error: Exception) -> str:
    if isinstance(error, _UsageError):
        return _usage(error)
    if isinstance(error, (*_MENDABLE, WorkFailed)):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else f"{error.strerror}."
    if isinstance(error, ModuleNotFoundError) and error.name in _LEFT_OUT:
        return (
            f"this command needs {error.name}, which this environment does without; an exported "
            "model can be used with predict and explain alone. Install the rest with: "
            "pip install protorynet"
        )
    if isinstance(error, MemoryError):
        return "there is not enough memory. Give fewer documents at a time."
    hint = "PROTORYNET_DEBUG=1 shows where it happened."
    return f"something unexpected went wrong ({type(error).__name__}: {error}). {hint}"


def _usage(error: BaseException) -> str:
    message: str = getattr(error, "format_message", lambda: str(error))()
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "protorynet"
    return f"{message.rstrip('.')}. See: {command} --help"
