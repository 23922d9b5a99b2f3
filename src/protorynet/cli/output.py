"""What commands print, how they end, and whether their results can be written."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from protorynet.errors import (
    CheckpointError,
    EncoderError,
    InputError,
    MissingExtraError,
    ModelFormatError,
    ProtoryNetError,
)

if TYPE_CHECKING:
    from rich.console import Console


def result_console() -> Console:
    """Return the console for results: coloured in a terminal, plain in a pipe."""
    from rich.console import Console

    return Console(highlight=False)


def note(message: str) -> None:
    """Print a remark on standard error."""
    _print_remark(message, lead="", style="dim")


def print_json(value: Mapping[str, Any], *, as_line: bool = False) -> None:
    """Print one JSON object, indented for people unless it is one of many."""
    is_unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    indent = None if as_line else 2
    print(json.dumps(value, indent=indent, ensure_ascii=not is_unicode, allow_nan=False))


def _print_remark(message: str, lead: str, style: str) -> None:
    from rich.console import Console
    from rich.text import Text

    # A name of a file or a column may hold anything, line breaks and escapes included.
    line = "".join(c if c.isprintable() else "�" for c in " ".join(message.split()))
    text = Text.assemble((lead, "bold red"), (line, style))
    Console(stderr=True, highlight=False).print(text, soft_wrap=True)


_FAILED, _BAD_INPUT = 1, 2
_MENDABLE = (InputError, EncoderError, ModelFormatError, CheckpointError, MissingExtraError)
# What an environment for exported models does without.
_LEFT_OUT = ("pandas", "sklearn", "scipy", "torch", "transformers")
# Typer brings its own copy of click, or uses the one installed: only this name is the same.
_UsageError = typer.BadParameter.__mro__[1]


def end_badly(error: Exception) -> int:
    """Print the line for an error, and return the exit code."""
    if os.environ.get("PROTORYNET_DEBUG"):
        traceback.print_exception(error)
    if isinstance(error, OSError):
        # What is left in a buffer that cannot be written would complain again at exit.
        silence_output()
    _print_remark(_describe_error(error), lead="error: ", style="")
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


def _describe_error(error: Exception) -> str:
    if isinstance(error, _UsageError):
        return _describe_usage(error)
    if isinstance(error, ProtoryNetError):
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


def _describe_usage(error: Any) -> str:
    command = error.ctx.command_path if error.ctx else "protorynet"
    message: str = error.format_message().rstrip(".")
    # Typer lets pydantic check values, whose messages speak of an input and do not show it.
    for found in getattr(error.__cause__, "errors", list)():
        message = message.replace("Input should", f"{found['input']!r} should")
        message = message.replace("Value error, ", "").partition(", unable to parse")[0]
    return f"{message}. See: {command} --help"


def check_writable(path: Path, *inputs: Path) -> None:
    """Refuse a path in whose folder nothing can be written, and one that is read from itself."""
    for source in inputs:
        if path.exists() and source.exists() and path.samefile(source):
            raise InputError(f"{path} is the input; choose another name for the output.")
    folder = path.absolute().parent
    try:
        while not folder.exists():
            folder = folder.parent
        with tempfile.TemporaryDirectory(dir=folder, prefix=".protorynet."):
            pass
    except OSError as error:
        raise InputError(
            f"{path} cannot be written, because {folder} cannot: {error.strerror}. "
            "Choose a place you may write to."
        ) from None
