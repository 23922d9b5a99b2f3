"""What this machine's processor can do."""

from __future__ import annotations

import functools
import re
from pathlib import Path

__all__ = ["has_bfloat16", "has_byte_products", "is_known"]

_CPUINFO = Path("/proc/cpuinfo")
_BFLOAT16 = {"avx512_bf16", "amx_bf16", "bf16"}
_BYTE_PRODUCTS = {"avx512_vnni", "avx_vnni", "amx_int8", "asimddp", "i8mm"}


def has_bfloat16() -> bool:
    """Say whether the processor multiplies matrices of bfloat16 by instructions of its own."""
    return bool(_BFLOAT16 & _flags())


def has_byte_products() -> bool:
    """Say whether the processor has instructions for products of 8-bit numbers."""
    return bool(_BYTE_PRODUCTS & _flags())


def is_known() -> bool:
    """Say whether the processor's instructions are known at all."""
    return bool(_flags())


@functools.cache
def _flags() -> frozenset[str]:
    # Only Linux tells without further packages; elsewhere nothing is taken for granted.
    try:
        told = _CPUINFO.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return frozenset()
    found = re.search(r"^(?:flags|Features)\s*:(.*)$", told, re.MULTILINE)
    return frozenset(found[1].split()) if found else frozenset()
