"""Moments of documents, gathered into days, weeks, months or years."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from protorynet.errors import InputError

__all__ = ["Bucket", "bucketed", "buckets_between", "choose_bucket", "looks_like_time", "moments"]

Bucket = Literal["day", "week", "month", "year"]

_TIME = re.compile(r"\d{4}-\d{2}(-\d{2}.{0,25})?|\d{1,4}[./]\d{1,2}[./]\d{2,4}.{0,20}")
_LEAST_READABLE = 0.5
_FIRST, _LAST = np.datetime64("1000-01-01"), np.datetime64("3000-01-01")
_MOST_DAYS: dict[Bucket, int] = {"day": 31, "week": 7 * 30, "month": 366 * 5}


def looks_like_time(value: str) -> bool:
    """Say whether a text may be a date.

    Examples
    --------
    >>> [looks_like_time(text) for text in ("2026-03-01", "3/1/2026", "2026-03", "12", "May")]
    [True, True, True, False, False]
    """
    return _TIME.fullmatch(value) is not None


def moments(values: Sequence[Any], column: str) -> NDArray[np.datetime64]:
    """Return the days of moments written in any usual way; NaT where one cannot be read.

    Numbers are years, seconds or milliseconds since 1970.

    Examples
    --------
    >>> moments(["2026-03-01", "2026-03-02T10:00:00Z", None], "date").tolist()
    [datetime.date(2026, 3, 1), datetime.date(2026, 3, 2), None]
    >>> moments(["red", "green"], "colour")
    Traceback (most recent call last):
    ...
    protorynet.errors.InputError: column 'colour' holds no dates...
    """
    import pandas as pd

    texts = [_as_text(value) for value in values]
    read = pd.to_datetime(pd.Series(texts, dtype=object), errors="coerce", utc=True, format="mixed")
    days: NDArray[np.datetime64] = read.dt.tz_localize(None).to_numpy().astype("datetime64[D]")
    days[(days < _FIRST) | (days >= _LAST)] = np.datetime64("NaT")
    present = sum(text is not None for text in texts)
    if (~np.isnat(days)).sum() < max(1, _LEAST_READABLE * present):
        raise InputError(
            f"column {column!r} holds no dates that can be read; write them as 2026-03-01, or "
            "choose another column."
        )
    return days


def choose_bucket(days: NDArray[np.datetime64]) -> Bucket:
    """Choose how to gather days so that a chart can be read.

    Examples
    --------
    >>> days = np.array(["2026-01-01", "2026-03-01"], "datetime64[D]")
    >>> choose_bucket(days)
    'week'
    """
    known = days[~np.isnat(days)]
    span = int((known.max() - known.min()) / np.timedelta64(1, "D"))
    return next((name for name, most in _MOST_DAYS.items() if span <= most), "year")


def bucketed(days: NDArray[np.datetime64], bucket: Bucket) -> NDArray[np.datetime64]:
    """Return the first day of each day's bucket; weeks begin on Monday.

    Examples
    --------
    >>> days = np.array(["2026-03-04"], "datetime64[D]")
    >>> [str(bucketed(days, bucket)[0]) for bucket in ("day", "week", "month", "year")]
    ['2026-03-04', '2026-03-02', '2026-03-01', '2026-01-01']
    """
    if bucket == "day":
        return days
    if bucket == "week":
        since = (days - np.datetime64("1969-12-29")) // np.timedelta64(7, "D")  # a Monday
        weeks = np.where(np.isnat(days), 0, since).astype(np.int64)
        monday = np.datetime64("1969-12-29") + weeks * np.timedelta64(7, "D")
        return np.where(np.isnat(days), np.datetime64("NaT", "D"), monday)
    unit = "datetime64[M]" if bucket == "month" else "datetime64[Y]"
    return days.astype(unit).astype("datetime64[D]")


def buckets_between(starts: NDArray[np.datetime64], bucket: Bucket) -> NDArray[np.datetime64]:
    """Return the first days of all buckets from the earliest to the latest of some.

    Examples
    --------
    >>> starts = np.array(["2026-03-01", "2026-01-01"], "datetime64[D]")
    >>> buckets_between(starts, "month").astype(str).tolist()
    ['2026-01-01', '2026-02-01', '2026-03-01']
    """
    known = starts[~np.isnat(starts)]
    first, last = known.min(), known.max()
    if bucket == "week":
        weeks = int((last - first) / np.timedelta64(7, "D"))
        return np.asarray(first + np.arange(weeks + 1) * np.timedelta64(7, "D"))
    unit = {"day": "D", "month": "M", "year": "Y"}[bucket]
    ends = np.array([first, last]).astype(f"datetime64[{unit}]")
    return np.arange(ends[0], ends[1] + 1).astype("datetime64[D]")


def _as_text(value: Any) -> str | None:
    if value is None or isinstance(value, bool) or str(value).strip() == "":
        return None
    text = str(value).strip()[:60]
    number = re.fullmatch(r"(\d{4,13})(\.\d+)?", text)
    if number is None:
        return text
    whole = int(number[1])
    if 1_000 <= whole < 3_000:
        return f"{whole:04}-01-01"
    if len(number[1]) == 8 and number[2] is None:  # 20260301
        return f"{number[1][:4]}-{number[1][4:6]}-{number[1][6:]}"
    seconds = whole // 1000 if whole >= 10**11 else whole
    return str(np.datetime64(seconds, "s"))
