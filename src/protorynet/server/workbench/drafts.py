"""Drafts: a model being edited, kept on disk so that a confirmed edit outlives a kill.

Every state is a complete model directory of its own; ``draft.json``, written atomically after it,
says which one holds. Whatever else is there was never confirmed, or is no longer needed.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from protorynet.files import write_atomically
from protorynet.model import Model
from protorynet.prototypes import EditEntry
from protorynet.records import read_record
from protorynet.storage import load_model, save_model

if TYPE_CHECKING:
    from protorynet.encoders import TransformerEncoder

__all__ = ["Draft", "DraftFolder", "save_beside"]

_LARGEST = 2**20


@dataclass(frozen=True)
class _Record:
    """What ``draft.json`` says."""

    id: str
    base_version: str
    n_base_edits: int
    revision: int


@dataclass(frozen=True)
class Draft:
    """A model being edited.

    Parameters
    ----------
    id
        Tells this draft from earlier ones.
    base_version
        The version that it was begun from.
    n_base_edits
        How many edits that one's log held; those that follow are the draft's own.
    revision
        Counts the changes of the draft.
    model
        The model as edited.
    """

    id: str
    base_version: str
    n_base_edits: int
    revision: int
    model: Model

    @classmethod
    def begun(cls, base_version: str, model: Model) -> Draft:
        """Return a draft without edits."""
        return cls(secrets.token_hex(8), base_version, len(model.edits.entries), 0, model)

    @property
    def entries(self) -> tuple[EditEntry, ...]:
        """The draft's own edits, the undone ones included."""
        return self.model.edits.entries[self.n_base_edits :]

    @property
    def can_undo(self) -> bool:
        """Whether the last standing edit is the draft's own and its state is kept."""
        states = self.model.edits.states
        return bool(states) and states[-1].number > self.n_base_edits

    @property
    def has_edits(self) -> bool:
        """Whether an edit of the draft stands."""
        return any(entry.undone is None for entry in self.entries)

    def changed(self, model: Model) -> Draft:
        """Return the next revision."""
        return replace(self, model=model, revision=self.revision + 1)


class DraftFolder:
    """The draft of one model on disk.

    Parameters
    ----------
    folder
        Where it is kept.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = folder / "draft.json"
        self._known: Draft | None = None

    def read(self, *, device: str) -> Draft | None:
        """Return the draft, if there is one."""
        record = self._record()
        if record is None:
            return None
        known = self._known
        if known is not None and (known.id, known.revision) == (record.id, record.revision):
            return known
        model, _ = load_model(self._state(record.id, record.revision), device=device)
        self._known = Draft(**vars(record), model=model)
        return self._known

    def write(self, draft: Draft, *, encoder: Path | None) -> None:
        """Keep a draft; when this returns, it is on disk.

        Parameters
        ----------
        draft
            The draft.
        encoder
            Folder of the fine-tuned encoder, where the model has one.
        """
        save_beside(draft.model, self._state(draft.id, draft.revision), encoder=encoder)
        values = {name: value for name, value in vars(draft).items() if name != "model"}
        write_atomically(self._file, json.dumps(asdict(_Record(**values))))
        self._known = draft
        self._sweep(self._state(draft.id, draft.revision))

    def delete(self) -> None:
        """Forget the draft."""
        # First the record, so that a kill in between leaves no draft without its model.
        self._file.unlink(missing_ok=True)
        self._known = None
        shutil.rmtree(self._folder, ignore_errors=True)

    def _state(self, draft_id: str, revision: int) -> Path:
        return self._folder / f"{draft_id}-{revision}"

    def _record(self) -> _Record | None:
        try:
            if self._file.stat().st_size > _LARGEST:
                return None
            record = read_record(_Record, json.loads(self._file.read_bytes()))
        except (OSError, ValueError, TypeError, RecursionError):
            return None
        return record if record.id.isalnum() and self._file.parent.is_dir() else None

    def _sweep(self, kept: Path) -> None:
        for path in self._folder.iterdir():
            if path.is_dir() and path != kept:
                shutil.rmtree(path, ignore_errors=True)
            elif path.is_file() and path != self._file:  # left by a kill
                path.unlink(missing_ok=True)


def save_beside(model: Model, path: Path, *, encoder: Path | None) -> None:
    """Write a model directory that shares the files of a fine-tuned encoder with another one."""
    tuned: Any = None if encoder is None else _SharedEncoder(encoder)
    save_model(model, path, tuned=cast("TransformerEncoder | None", tuned))


@dataclass(frozen=True)
class _SharedEncoder:
    """An encoder that was saved once and does not change, so that links to its files will do."""

    folder: Path

    def save(self, path: Path) -> None:
        shutil.copytree(self.folder, path, copy_function=_link)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system, or one without links
        shutil.copy2(source, target)
