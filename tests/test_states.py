"""Any order of what people and processes do leaves a state that a simple model of it expects."""

import shutil
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from hashing_encoder import HashingEncoder
from inference.toy_predictor import ToyPredictor
from protorynet.data import open_stream
from protorynet.encoders import EmbeddingCache
from protorynet.errors import CheckpointError, InputError
from protorynet.inference import PartStore, predict_to_file
from protorynet.prototypes import Edits
from protorynet.server.workbench.desk import Draft, DraftFolder
from protorynet.storage import load_model
from protorynet.training import edit_model

MODEL = Path(__file__).parent / "golden" / "v2" / "texts" / "model"
ENCODER = HashingEncoder()
SENTENCES = [f"Sentence {number}." for number in range(400)]


class InFolder(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="protorynet-states-"))

    def teardown(self) -> None:
        shutil.rmtree(self.folder)


class SharedCache(InFolder):
    """Two users of one cache, each with an index of its own, as two processes have."""

    def __init__(self) -> None:
        super().__init__()
        self.users = [EmbeddingCache(self.folder), EmbeddingCache(self.folder)]
        self.kept: set[int] = set()
        self.is_damaged = False

    @rule(user=st.integers(0, 1), start=st.integers(0, 5))
    def put(self, user: int, start: int) -> None:
        numbers = range(60 * start, 60 * start + 80)
        some = [SENTENCES[number] for number in numbers]
        self.users[user].put(ENCODER, some, ENCODER.encode(some))
        self.kept.update(numbers)

    @rule(user=st.integers(0, 1))
    def clear(self, user: int) -> None:
        self.users[user].clear()
        self.kept.clear()
        self.is_damaged = False

    @rule(which=st.integers(0, 99), at=st.integers(0, 10**6), bit=st.integers(0, 7))
    def damage(self, which: int, at: int, bit: int) -> None:
        paths = sorted(self.folder.rglob("*.npy"))
        for path in paths and [paths[which % len(paths)]]:
            content = bytearray(path.read_bytes())
            content[at % len(content)] ^= 1 << bit
            path.write_bytes(content)
            self.is_damaged = True  # which of them are lost is not known here

    @rule(user=st.integers(0, 1))
    def get(self, user: int) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found, vectors = self.users[user].get(ENCODER, SENTENCES)
        assert self.is_damaged or found[sorted(self.kept)].all()
        known = [text for text, here in zip(SENTENCES, found, strict=True) if here]
        np.testing.assert_array_equal(vectors.reshape(-1, 32), ENCODER.encode(known))


class ResumedPredictions(InFolder):
    """Runs that are stopped after some parts, started over or resumed, with inputs that change."""

    @initialize()
    def begin(self) -> None:
        self.output = self.folder / "out.csv"
        self.done: dict[int, int] = {}
        self.change_input(60)

    @rule(rows=st.sampled_from([40, 60, 95]))
    def change_input(self, rows: int) -> None:
        self.rows = rows
        texts = [f"Text {number} of {rows}. Fine." for number in range(rows)]
        pq.write_table(pa.table({"text": texts}), self.folder / "in.parquet")

    @rule(stop_after=st.integers(0, 4), resume=st.booleans())
    def run(self, stop_after: int, resume: bool) -> None:
        before = self.output.read_bytes() if self.output.exists() else None
        stream = open_stream([str(self.folder / "in.parquet")], text="text")
        store = PartStore(self.output, {"inputs": self.rows})
        calls = iter(range(stop_after))

        def advance(rows: int) -> None:
            if next(calls, None) is None:
                raise KeyboardInterrupt

        try:
            with store.locked():
                store.begin(resume=resume)
                predict_to_file(stream, ToyPredictor(), store, advance, documents=25)
        except (KeyboardInterrupt, CheckpointError):
            assert (self.output.read_bytes() if self.output.exists() else None) == before
        else:
            lines = self.output.read_text().splitlines()[1:]
            said = [line.split(",")[0].strip('"') for line in lines]
            assert said == [f"Text {number} of {self.rows}. Fine." for number in range(self.rows)]
            assert not list(self.folder.glob(".out.csv*"))


class EditedDraft(InFolder):
    """A draft that is edited, undone, read again from disk and started over."""

    @initialize()
    def begin(self) -> None:
        model, _ = load_model(MODEL)
        self.past: list[Any] = []
        self.now = Draft.begin("base", model)
        self._keep(self.now)

    def _keep(self, draft: Draft) -> None:
        DraftFolder(self.folder / "draft").write(draft, encoder=None)
        self.now = draft

    @staticmethod
    def _view(draft: Draft) -> Any:
        return [(item.id, item.name, len(item.members)) for item in draft.model.prototypes]

    @rule(draw=st.randoms(use_true_random=False), kind=st.sampled_from(["rename", "drop", "merge"]))
    def edit(self, draw: Any, kind: str) -> None:
        ids = draw.sample([item.id for item in self.now.model.prototypes], 2)
        wanted = {"rename": {ids[0]: f"Name {draw.randrange(99)}"}, "drop": ids[:1], "merge": [ids]}
        try:
            edited = edit_model(self.now.model, Edits.of(**{kind: wanted[kind]}), None)
        except InputError:  # too few would remain
            return
        self.past.append(self._view(self.now))
        self._keep(self.now.change(edited))

    @rule()
    def undo(self) -> None:
        assert self.now.can_undo is bool(self.past[-10:] and self.now.model.edits.states)
        if self.now.can_undo:
            self._keep(self.now.change(self.now.model.undone()))
            assert self._view(self.now) == self.past.pop()

    @rule()
    def discard(self) -> None:
        DraftFolder(self.folder / "draft").delete()
        self.begin()

    @invariant()
    def the_disk_holds_it(self) -> None:
        if hasattr(self, "now"):
            found = DraftFolder(self.folder / "draft").read(device="cpu")
            assert (found.revision, self._view(found)) == (self.now.revision, self._view(self.now))


_FEW = settings(max_examples=15, stateful_step_count=12, deadline=None)
for _machine in (SharedCache, ResumedPredictions, EditedDraft):
    _machine.TestCase.settings = _FEW
TestSharedCache = SharedCache.TestCase
TestResumedPredictions = ResumedPredictions.TestCase
TestEditedDraft = EditedDraft.TestCase
