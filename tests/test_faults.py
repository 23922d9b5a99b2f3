"""Whatever fails at whatever file operation: what was there stays, or the new is there."""

import functools
import hashlib
import io
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fault_injection import KINDS, OF_SQLITE, Scenario, strike_everywhere
from hashing_encoder import HashingEncoder
from inference.toy_predictor import ToyPredictor
from protorynet import ProtoryNetClassifier
from protorynet.data import open_stream
from protorynet.encoders import EmbeddingCache
from protorynet.inference import PartStore, export_onnx, predict_to_file, read_exported
from protorynet.prototypes import Edits
from protorynet.server import ApiError, KeyFile
from protorynet.server.workbench.batch_routes import score_batch
from protorynet.server.workbench.batch_store import BatchFolder
from protorynet.server.workbench.desk import Draft, DraftFolder, Marks
from protorynet.storage import load_model
from protorynet.training import edit_model

ENCODER = HashingEncoder()
MODEL = Path(__file__).parent / "golden" / "v2" / "texts" / "model"
TEXTS = [f"Room {number} was {'lovely' if number % 3 else 'dirty'}." for number in range(90)]


@pytest.fixture(scope="module")
def models():
    """A model, and the same with a prototype less."""
    old, new = (
        ProtoryNetClassifier.load(MODEL, encoder=ENCODER, device="cpu", cache=False)
        for _ in range(2)
    )
    new.edit(drop=[new.prototypes_[0].id])
    return old, new


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else "nothing"


def names_in(path: Path) -> Any:
    """A model directory is whole, or there is none."""
    model, _ = load_model(path)
    return [item.name for item in model.prototypes]


def saving(models) -> Scenario:
    old, new = models
    return Scenario(
        lambda folder: old.save(folder / "model"),
        lambda folder: new.save(folder / "model"),
        lambda folder: (
            digest(folder / "model" / "model.safetensors") + str(names_in(folder / "model"))
        ),
    )


def editing(models) -> Scenario:
    def edit(folder: Path) -> None:
        model = ProtoryNetClassifier.load(folder / "model", encoder=ENCODER, device="cpu")
        if names_in(folder / "model")[0] != "First":
            first = model.prototypes_[0].id
            model.edit(rename={first: "First"})
            model.save(folder / "model")

    return Scenario(
        lambda folder: models[0].save(folder / "model"),
        edit,
        lambda folder: names_in(folder / "model"),
    )


def fitting(models, quick, reviews) -> Scenario:
    def fit(folder: Path) -> None:
        settings = quick.replace(epochs=2, retrain_epochs=1)
        model = ProtoryNetClassifier(ENCODER, settings=settings, device="cpu", cache=False)
        kept = folder / "checkpoint"
        model.fit(reviews.texts[:30], reviews.labels[:30], checkpoint=kept, resume=True)
        model.save(folder / "model")

    return Scenario(
        lambda folder: models[0].save(folder / "model"),
        fit,
        lambda folder: [names_in(folder / "model"), digest(folder / "model" / "model.safetensors")],
    )


def predicting() -> Scenario:
    def prepare(folder: Path) -> None:
        pq.write_table(pa.table({"text": TEXTS}), folder / "in.parquet")
        (folder / "out.csv").write_text("an earlier output\n")

    def predict(folder: Path) -> None:
        stream = open_stream([str(folder / "in.parquet")], text="text")
        store = PartStore(folder / "out.csv", {"inputs": "these"})
        with store.locked():
            store.begin(resume=True)
            predict_to_file(stream, ToyPredictor(), store, lambda rows: None, documents=40)

    return Scenario(prepare, predict, lambda folder: digest(folder / "out.csv"))


def exporting(models) -> Scenario:
    def act(folder: Path) -> None:
        export_onnx(models[1].predictor, folder / "exported")

    def state(folder: Path) -> Any:
        return len(read_exported(folder / "exported").prototypes)

    return Scenario(
        lambda folder: export_onnx(models[0].predictor, folder / "exported"), act, state
    )


def caching() -> Scenario:
    def put(folder: Path, texts: list[str]) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            EmbeddingCache(folder / "cache").put(ENCODER, texts, ENCODER.encode(texts))

    def state(folder: Path) -> Any:
        found, vectors = EmbeddingCache(folder / "cache").get(ENCODER, TEXTS)
        known = [text for text, here in zip(TEXTS, found, strict=True) if here]
        np.testing.assert_array_equal(vectors.reshape(-1, 32), ENCODER.encode(known))
        return len(known)

    others = [f"{text} Again." for text in TEXTS]
    return Scenario(lambda folder: put(folder, others), lambda folder: put(folder, TEXTS), state)


def keeping_keys() -> Scenario:
    def act(folder: Path) -> None:
        keys = KeyFile(folder / "keys.json")
        if len(keys.keys()) == 1:
            keys.create("predict")

    return Scenario(
        lambda folder: KeyFile(folder / "keys.json").create("admin"),
        act,
        lambda folder: len(KeyFile(folder / "keys.json").keys()),
    )


def drafting(models) -> Scenario:
    def draft(folder: Path) -> Draft:
        return DraftFolder(folder / "draft").read(device="cpu")

    def act(folder: Path) -> None:
        found = draft(folder)
        if found.revision < 2:
            first = found.model.prototypes[0].id
            edited = edit_model(found.model, Edits.of(rename={first: "First"}), None)
            DraftFolder(folder / "draft").write(found.change(edited), encoder=None)

    def prepare(folder: Path) -> None:
        begun = Draft.begin("base", models[0].model_)
        DraftFolder(folder / "draft").write(begun.change(begun.model), encoder=None)

    return Scenario(
        prepare,
        act,
        lambda folder: (draft(folder).revision, draft(folder).model.prototypes[0].name),
    )


def marking() -> Scenario:
    def put(folder: Path, note: str) -> None:
        Marks(folder / "marks.sqlite").put("A text.", 0, wrong_label=True, note=note)

    def state(folder: Path) -> Any:
        (item,) = Marks(folder / "marks.sqlite").add_to(({"text": "A text."},))
        return item["mark"]["note"]

    return Scenario(lambda folder: put(folder, "old"), lambda folder: put(folder, "new"), state)


def predicting_in_the_workbench(models) -> Scenario:
    table = "text\n" + "\n".join(TEXTS[:5])

    def finished(folder: Path) -> list[int]:
        """Rows of the results that a client can fetch."""
        batches, found = BatchFolder(folder), []
        for path in (folder / "batches").glob("*"):
            try:
                batch = batches.read(path.name, is_done=True)
            except ApiError:
                continue
            assert batches.overview(batch.id, "all")
            found.append(len(pq.read_table(path / "result.parquet")))
        return found

    def act(folder: Path) -> None:
        if finished(folder):
            return
        batches = BatchFolder(folder)
        _, upload = batches.receive(io.BytesIO(table.encode()), "t.csv")
        about = {"text": "text", "group": None, "time": None, "n_rows": 5, "version": "1"}
        batch = batches.begin(upload, **about)
        score_batch(batches, batch, models[0].predictor, lambda *_: None, 10_000)

    return Scenario(lambda folder: None, act, finished)


def scenario(name: str, models: Any, quick: Any, reviews: Any) -> Scenario:
    return {
        "save": functools.partial(saving, models),
        "edit": functools.partial(editing, models),
        "fit": functools.partial(fitting, models, quick, reviews),
        "predict": predicting,
        "export": functools.partial(exporting, models),
        "cache": caching,
        "keys": keeping_keys,
        "draft": functools.partial(drafting, models),
        "marks": marking,
        "batch": functools.partial(predicting_in_the_workbench, models),
    }[name]()


QUICK = {"save": 4, "edit": 9, "predict": 3, "cache": 1, "keys": 1, "draft": 9}
QUICK |= {"marks": 1, "batch": 4}
KINDS_OF = {"marks": OF_SQLITE}


@pytest.mark.parametrize(("name", "every"), QUICK.items())
def test_a_fault_leaves_the_old_state_or_the_new(name, every, models, quick, reviews, tmp_path):
    found, kinds = scenario(name, models, quick, reviews), KINDS_OF.get(name, KINDS)
    assert strike_everywhere(found, tmp_path, kinds=kinds, every=every) >= len(kinds)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*QUICK, "fit", "export"])
def test_a_fault_at_every_operation_leaves_the_old_state_or_the_new(
    name, models, quick, reviews, tmp_path
):
    found = scenario(name, models, quick, reviews)
    tried = strike_everywhere(found, tmp_path, kinds=KINDS_OF.get(name, KINDS))
    shutil.rmtree(tmp_path / "template")
    killed = strike_everywhere(found, tmp_path, kinds=("kill",), really=True)
    print(f"\n{name}: {tried} injected faults and {killed} real kills survived")
    assert tried > killed > 0
