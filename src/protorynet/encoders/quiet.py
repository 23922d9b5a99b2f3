"""Keeping the transformers library off the terminal."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["quiet_transformers"]


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Silence transformers' and the hub's bars, logging and warnings while the block runs."""
    from transformers.utils import logging as transformers_logging

    chatter: Any = transformers_logging

    level, bars = chatter.get_verbosity(), chatter.is_progress_bar_enabled()
    hub = logging.getLogger("huggingface_hub")
    hub_level = hub.level
    chatter.set_verbosity(logging.CRITICAL)
    hub.setLevel(logging.CRITICAL)
    chatter.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        chatter.set_verbosity(level)
        hub.setLevel(hub_level)
        if bars:
            chatter.enable_progress_bar()
