"""Texts and labels out of every kind of file in which the data sets are published."""

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal, NamedTuple

from protorynet.data import Splitter, one_line, split_documents
from protorynet.errors import TableError
from protorynet_lab.datasets.archive_members import Member

Class = int | str
Split = Literal["train", "test"]

LONGEST_TEXT = 2**20  # of a file that is one document, in bytes
ROWS_PER_BATCH = 1_000
_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_JSON_LINES = (".json", ".jsonl", ".ndjson")
_SPLITS: dict[str, Split] = {"train": "train", "test": "test"}
_SPLITS |= dict.fromkeys(("val", "valid", "validation", "dev"), _SPLITS["train"])
_IN_FOLDERS = re.compile(r"(?:.*/)?(train|test)/(pos|neg)/[^/]+\.txt")


class Row(NamedTuple):
    """A document, its class, and the split it was published in; None where there is none."""

    text: str
    label: Class
    split: Split | None


@dataclass(frozen=True)
class Layout:
    """The columns in which a table holds texts and labels, and the class of each label."""

    text: str
    label: str
    classes: Callable[[str], Class | None]  # None for a document that is not wanted
    has_split: bool = False  # the file's name says the split; others are passed over


@dataclass(frozen=True)
class Numbered:
    """A CSV file without a header: the number of the class first, the text last."""

    classes: Mapping[str, Class | None]
    has_split: bool = True


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a data set is read, drawn and split."""

    classes: tuple[Class, ...]  # each must have documents
    layouts: tuple[Layout, ...] = ()  # of tables; the first that fits is taken
    numbered: Numbered | None = None
    in_folders: bool = False  # documents are files, in folders named by split and class
    files: re.Pattern[str] | None = None  # names among others in a folder or an archive
    is_wanted: Callable[[str], bool] = bool  # by its text
    is_balanced: bool = False  # every class gets as many documents as the smallest has
    most: int | None = None  # documents of a class
    test_share: float = 0.2  # of the documents of each class, where its files have no split


def read_rows(member: Member, recipe: Recipe) -> Iterator[Row]:
    """Go through the documents of one file; a file of another kind or layout has none."""
    if recipe.files is not None and not member.is_alone and not recipe.files.search(member.name):
        return
    for row in _read_any(member, recipe):
        if recipe.is_wanted(row.text):
            yield row


def _read_any(member: Member, recipe: Recipe) -> Iterator[Row]:
    if member.ending in _DELIMITERS:
        return _read_csv(member, recipe)
    if member.ending in _JSON_LINES:
        return _read_json(member, recipe.layouts)
    if member.ending == ".parquet" and member.path is not None:
        return _read_parquet(member, recipe.layouts)
    if recipe.in_folders and (found := _IN_FOLDERS.fullmatch(member.name)):
        text = member.read_whole(LONGEST_TEXT)
        return iter([Row(text, int(found[2] == "pos"), _SPLITS[found[1]])])
    return iter(())


def _read_csv(member: Member, recipe: Recipe) -> Iterator[Row]:
    lines = csv.reader(member.lines(), delimiter=_DELIMITERS[member.ending])
    try:
        first = next(lines, [])
        if recipe.numbered is not None and first and first[0] in recipe.numbered.classes:
            yield from _read_numbered(member, recipe.numbered, chain([first], lines))
            return
        layout = _find_layout(recipe.layouts, first, member)
        if layout is None:
            return
        text, label = first.index(layout.text), first.index(layout.label)
        for cells in lines:
            if len(cells) > max(text, label):
                yield from _make_row(layout, cells[text], cells[label], member)
    except csv.Error as error:
        raise TableError(
            f"{member.name} is not valid CSV near line {lines.line_num} ({one_line(error)})."
        ) from None


def _read_numbered(member: Member, numbered: Numbered, lines: Iterator[list[str]]) -> Iterator[Row]:
    split = _find_split(member.name) if numbered.has_split else None
    if numbered.has_split and split is None:
        return
    for cells in lines:
        label = numbered.classes.get(cells[0]) if len(cells) > 1 else None
        if label is not None and cells[-1].strip():
            # In these files a line break is written as a backslash and an n.
            yield Row(cells[-1].replace("\\n", "\n").replace('\\"', '"'), label, split)


def _read_json(member: Member, layouts: Sequence[Layout]) -> Iterator[Row]:
    layout = None
    for number, line in enumerate(member.lines(), start=1):
        if line.isspace():
            continue
        record = _parse_record(line, f"line {number} of {member.name}")
        if layout is None:
            layout = _find_layout(layouts, list(record), member)
            if layout is None:
                return
        yield from _make_row(layout, record.get(layout.text), record.get(layout.label), member)


def _parse_record(line: str, where: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        wrong = f"is not valid JSON ({one_line(error)})"
    else:
        if isinstance(record, dict):
            return record
        wrong = f"holds a {type(record).__name__}"
    raise TableError(f"{where} {wrong}; expected one object per line, as published.")


def _read_parquet(member: Member, layouts: Sequence[Layout]) -> Iterator[Row]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(member.path) as file:
            layout = _find_layout(layouts, file.schema_arrow.names, member)
            if layout is None:
                return
            columns = [layout.text, layout.label]
            for batch in file.iter_batches(ROWS_PER_BATCH, columns=columns):
                texts, labels = (batch.column(name).to_pylist() for name in columns)
                for text, label in zip(texts, labels, strict=True):
                    yield from _make_row(layout, text, label, member)
    except pa.ArrowException as error:
        raise TableError(
            f"{member.name} cannot be read as Parquet ({one_line(error)}); fetch it again."
        ) from None


def _make_row(layout: Layout, text: Any, label: Any, member: Member) -> Iterator[Row]:
    """Give the document of a row, if it is one."""
    if not isinstance(text, str) or label is None:
        return
    found = layout.classes(str(label).strip())
    if found is None or not text or text.isspace():
        return
    if not text.isascii():
        # JSON can write half a character, which no file of text can hold.
        text = text.encode("utf-8", "replace").decode()
    yield Row(text, found, _find_split(member.name) if layout.has_split else None)


def _find_layout(layouts: Sequence[Layout], names: Sequence[str], member: Member) -> Layout | None:
    layout = next((each for each in layouts if {each.text, each.label} <= set(names)), None)
    is_split = layout is None or not layout.has_split or _find_split(member.name) is not None
    return layout if is_split else None


def _find_split(name: str) -> Split | None:
    """Return the split by a file's name, or else by the name of a folder it is in."""
    for part in reversed(name.lower().split("/")):
        for word in re.split(r"[^a-z]+", part):
            if word in _SPLITS:
                return _SPLITS[word]
    return None


def _class_of_stars(value: str) -> int | None:
    """Return the class of a number of stars; between 2 and 4 there is none."""
    try:
        stars = float(value)
    except ValueError:
        return None
    if 4 <= stars <= 5:
        return 1
    return 0 if 1 <= stars <= 2 else None


def _is_complete(review: str) -> bool:
    """Say whether a review has 10 characters and 2 sentences, as the paper counts them."""
    if len(review.strip()) < 10:
        return False
    return len(split_documents([review], splitter=Splitter("paper"), on_empty="skip")) >= 2


def _identity(names: tuple[str, ...]) -> Callable[[str], str | None]:
    return {name: name for name in names}.get


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
            Layout("text", "stars", _class_of_stars),
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
        layouts=(Layout("reviews.text", "reviews.rating", _class_of_stars),),
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
            Layout("text", "l2", _identity(_KINDS), has_split=True),
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
        layouts=(Layout("Consumer complaint narrative", "Product", _identity(_PRODUCTS)),),
    ),
}
