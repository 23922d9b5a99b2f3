"""Keeping the Hugging Face libraries off the network."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["offline_hub"]

# The switch is one for the whole process: a thread must not restore what another one relies on.
_SWITCH = threading.RLock()


@contextmanager
def offline_hub() -> Iterator[None]:
    """Make every request to the Hugging Face hub fail before it is sent, while the block runs."""
    from huggingface_hub import constants

    with _SWITCH:
        before = constants.HF_HUB_OFFLINE
        constants.HF_HUB_OFFLINE = True
        try:
            yield
        finally:
            constants.HF_HUB_OFFLINE = before
