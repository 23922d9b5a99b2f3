"""What is done with each data set, and in which files its documents stand."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from protorynet.data import split_documents
from protorynet_lab.datasets.rows import Class, Layout, Numbered

__all__ = ["RECIPES", "Recipe"]


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a data set is read and prepared.

    Parameters
    ----------
    classes
        The classes, each of which must have documents.
    layouts, numbered, in_folders
        What its files look like; see `read_rows`.
    files
        What the names of its files look like among others in a folder or an archive.
    is_wanted
        Whether a text is taken.
    is_balanced
        Whether every class gets as many documents as the smallest has.
    most
        The most documents of a class; None for all.
    test_share
        Share of the documents of each class for the test, where its files tell no split.
    """

    classes: tuple[Class, ...]
    layouts: tuple[Layout, ...] = ()
    numbered: Numbered | None = None
    in_folders: bool = False
    files: re.Pattern[str] | None = None
    is_wanted: Callable[[str], bool] = bool
    is_balanced: bool = False
    most: int | None = None
    test_share: float = 0.2


def _by_stars(value: str) -> int | None:
    """Return the class of a number of stars; between 2 and 4 there is none.

    Examples
    --------
    >>> [_by_stars(value) for value in ("5", "4.0", "3", "2", "1.0", "0", "", "nan")]
    [1, 1, None, 0, 0, None, None, None]
    """
    try:
        stars = float(value)
    except ValueError:
        return None
    if 4 <= stars <= 5:
        return 1
    return 0 if 1 <= stars <= 2 else None


def _is_complete(review: str) -> bool:
    """Say whether a review has 10 characters and 2 sentences, as the paper counts them.

    Examples
    --------
    >>> [_is_complete(review) for review in ("Fun! Buy.", "Great game", "Great game! Buy it.")]
    [False, False, True]
    """
    if len(review.strip()) < 10:
        return False
    return len(split_documents([review], splitter="paper", on_empty="skip")) >= 2


_POLARITIES = (0, 1)
_ZERO_OR_ONE = {"0": 0, "1": 1}.get
_KINDS = ("Person", "Animal", "Building", "NaturalPlace")
# The fourteen kinds of Zhang et al., numbered from 1; artists, athletes and holders of office
# are persons.
_ZHANG_KINDS = {3: "Person", 4: "Person", 5: "Person", 7: "Building", 8: "NaturalPlace"}
_ZHANG_KINDS[10] = "Animal"
_PRODUCTS = (
    "Checking or savings account",
    "Credit card or prepaid card",
    "Debt collection",
    "Mortgage",
)

RECIPES: dict[str, Recipe] = {
    "imdb": Recipe(
        classes=_POLARITIES,
        layouts=(Layout("text", "label", _ZERO_OR_ONE, has_split=True),),
        in_folders=True,
    ),
    "amazon": Recipe(
        classes=_POLARITIES,
        layouts=(Layout("content", "label", _ZERO_OR_ONE),),
        numbered=Numbered({"1": 0, "2": 1}, has_split=False),
        is_balanced=True,
        most=15_000,
    ),
    "yelp": Recipe(
        classes=_POLARITIES,
        layouts=(
            Layout("text", "label", _ZERO_OR_ONE, has_split=True),
            Layout("text", "stars", _by_stars),
        ),
        numbered=Numbered({"1": 0, "2": 1}),
        is_balanced=True,
        most=299_000,
        test_share=38 / 598,
    ),
    "rotten_tomatoes": Recipe(
        classes=_POLARITIES,
        layouts=(
            Layout("Review", "Freshness", {"0": 0, "1": 1, "rotten": 0, "fresh": 1}.get),
            Layout("review_content", "review_type", {"Rotten": 0, "Fresh": 1}.get),
        ),
    ),
    "hotel": Recipe(
        classes=_POLARITIES,
        layouts=(Layout("reviews.text", "reviews.rating", _by_stars),),
        files=re.compile(r"Datafiniti_Hotel_Reviews"),
        is_balanced=True,
    ),
    "steam": Recipe(
        classes=_POLARITIES,
        layouts=(Layout("review", "recommendation", {"Not Recommended": 0, "Recommended": 1}.get),),
        is_wanted=_is_complete,
        is_balanced=True,
        most=65_000,
    ),
    "dbpedia": Recipe(
        classes=_KINDS,
        layouts=(
            Layout("text", "l2", {kind: kind for kind in _KINDS}.get, has_split=True),
            # On the hub the kinds are numbered from 0.
            Layout(
                "content",
                "label",
                {str(number - 1): kind for number, kind in _ZHANG_KINDS.items()}.get,
                has_split=True,
            ),
        ),
        numbered=Numbered({str(number): _ZHANG_KINDS.get(number) for number in range(1, 15)}),
    ),
    "complaints": Recipe(
        classes=_PRODUCTS,
        layouts=(
            Layout(
                "Consumer complaint narrative", "Product", {name: name for name in _PRODUCTS}.get
            ),
        ),
    ),
}
