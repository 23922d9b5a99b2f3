"""The model directory: it comes back the same, and no damage to it goes unnoticed."""

from __future__ import annotations

import copy
import json
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load as load_tensors, save as save_tensors

from protorynet import ProtoryNetClassifier, Settings, storage
from protorynet.encoders import load_encoder, stack_sequences
from protorynet.errors import EncoderError, InputError, ModelFormatError
from protorynet.model import Model
from protorynet.report import model_card
from protorynet.storage import FORMAT_VERSION, is_model_directory, load_model, save_model

_FILES = {"config.json", "model.safetensors", "prototypes.json", "README.md", "automata.json"}


def make(encoder: Any, settings: Settings, **options: Any) -> ProtoryNetClassifier:
    return ProtoryNetClassifier(encoder, settings=settings, device="cpu", cache=False, **options)


@pytest.fixture(scope="module")
def clf(reviews: Any, encoder: Any, quick: Settings) -> ProtoryNetClassifier:
    return make(encoder, quick).fit(reviews.texts, reviews.labels)


@pytest.fixture(scope="module")
def saved(clf: ProtoryNetClassifier, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "model"
    clf.save(path)
    return path


@pytest.fixture(scope="module")
def tuned(
    reviews: Any, tiny_bert_folder: Path, quick: Settings, tmp_path_factory: pytest.TempPathFactory
) -> tuple[ProtoryNetClassifier, Path]:
    """A model with a fine-tuned encoder, and where it was saved."""
    settings = quick.replace(encoder_training="full", encoder_learning_rate=1e-3)
    clf = make(tiny_bert_folder, settings).fit(reviews.texts, reviews.labels)
    path = tmp_path_factory.mktemp("tuned") / "model"
    clf.save(path)
    return clf, path


@pytest.fixture
def broken(saved: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    return Path(shutil.copytree(saved, tmp_path / "broken"))


def listing(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def edit_json(
    path: Path, change: Callable[[dict[str, Any]], object], *, sign: bool = False
) -> None:
    """Change a model's configuration; `sign` mends its checksum, as a forger would."""
    config = json.loads((path / "config.json").read_text(encoding="utf-8"))
    change(config)
    if sign:
        config["sha256"]["config.json"] = storage._config_sha256(config)
    (path / "config.json").write_text(json.dumps(config), encoding="utf-8")


def replace_file(path: Path, name: str, content: bytes) -> None:
    """Put another file into a model directory, with its checksum."""
    (path / name).write_bytes(content)
    edit_json(path, lambda config: config["sha256"].update({name: storage._sha256(content)}))


# Round trips


def test_a_loaded_model_predicts_exactly_the_same(
    clf: ProtoryNetClassifier, saved: Path, encoder: Any, unseen_reviews: Any
) -> None:
    loaded = ProtoryNetClassifier.load(saved, encoder=encoder, device="cpu", cache=False)
    texts = unseen_reviews.texts
    np.testing.assert_array_equal(loaded.predict_proba(texts), clf.predict_proba(texts))
    assert loaded.predict(texts).tolist() == clf.predict(texts).tolist()
    assert loaded.explain(texts) == clf.explain(texts)


def test_a_loaded_model_knows_all_that_the_saved_one_knew(
    clf: ProtoryNetClassifier, saved: Path, encoder: Any
) -> None:
    loaded = ProtoryNetClassifier.load(saved, encoder=encoder, device="cpu")
    assert loaded.prototypes_ == clf.prototypes_
    for name in ("labels", "encoder", "splitter", "settings", "training", "automata"):
        assert getattr(loaded.model_, name) == getattr(clf.model_, name)


@pytest.mark.parametrize(
    "labels",
    [[1, 0], [True, False], ["ja ☃", "nein | <b>"], [0.5, -1.0], [[1, 0], [1, 1]]],
    ids=["int", "bool", "unicode", "float", "multilabel"],
)
def test_classes_come_back_as_they_were(
    reviews: Any, encoder: Any, quick: Settings, tmp_path: Path, labels: list[Any]
) -> None:
    clf = make(encoder, quick).fit(reviews.texts[:12], labels * 6)
    clf.save(tmp_path / "model")
    loaded = ProtoryNetClassifier.load(tmp_path / "model", encoder=encoder, device="cpu")
    assert loaded.classes_.tolist() == clf.classes_.tolist()
    assert loaded.classes_.dtype == clf.classes_.dtype
    assert loaded.model_.labels == clf.model_.labels


@pytest.mark.parametrize(
    "changes",
    [
        {"encoder_training": "none"},
        {"reader_layers": 2, "reader_dropout": 0.2, "distance": "cosine"},
        {"exact": False, "retrain": "reader", "selection": "paper"},
    ],
)
def test_every_kind_of_model_comes_back(
    reviews: Any, encoder: Any, quick: Settings, tmp_path: Path, changes: dict[str, Any]
) -> None:
    clf = make(encoder, quick.replace(**changes), splitter="paper")
    clf.fit(reviews.texts, reviews.labels).save(tmp_path / "model")
    loaded = ProtoryNetClassifier.load(tmp_path / "model", encoder=encoder, device="cpu")
    np.testing.assert_array_equal(
        loaded.predict_proba(reviews.texts), clf.predict_proba(reviews.texts)
    )


def test_a_model_of_given_vectors_needs_no_encoder(quick: Settings, tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    sequences = [draw.normal(size=(3, 5)) + label for label in [0, 1] * 10]
    clf = make("precomputed", quick).fit(sequences, [0, 1] * 10)
    clf.save(tmp_path / "model")
    loaded = ProtoryNetClassifier.load(tmp_path / "model", device="cpu")
    np.testing.assert_array_equal(loaded.predict_proba(sequences), clf.predict_proba(sequences))


def test_a_fine_tuned_encoder_travels_with_the_model(
    tuned: tuple[ProtoryNetClassifier, Path], reviews: Any, tmp_path: Path
) -> None:
    clf, path = tuned
    moved = shutil.copytree(path, tmp_path / "elsewhere")
    loaded = ProtoryNetClassifier.load(moved, device="cpu", cache=False)
    np.testing.assert_allclose(
        loaded.predict_proba(reviews.texts), clf.predict_proba(reviews.texts), atol=1e-6
    )
    loaded.save(tmp_path / "again")
    again = ProtoryNetClassifier.load(tmp_path / "again", device="cpu", cache=False)
    np.testing.assert_array_equal(
        again.predict_proba(reviews.texts), loaded.predict_proba(reviews.texts)
    )


def test_saving_twice_writes_the_same_bytes(
    clf: ProtoryNetClassifier, saved: Path, tmp_path: Path
) -> None:
    clf.save(tmp_path / "model")
    assert listing(tmp_path / "model") == listing(saved)


def test_a_model_directory_holds_json_safetensors_and_a_card(saved: Path) -> None:
    assert set(listing(saved)) == _FILES
    assert json.loads((saved / "config.json").read_text())["format_version"] == FORMAT_VERSION


def test_loading_leaves_the_callers_random_numbers_alone(saved: Path) -> None:
    before = torch.get_rng_state()
    load_model(saved)
    assert torch.equal(torch.get_rng_state(), before)


def test_loaded_weights_do_not_ask_for_gradients(saved: Path) -> None:
    model, _ = load_model(saved)
    assert not any(parameter.requires_grad for parameter in model.network.parameters())
    assert not model.network.training


def test_a_configuration_may_be_laid_out_differently(saved: Path, broken: Path) -> None:
    edit_json(broken, lambda config: None)
    assert load_model(broken)[0].settings == load_model(saved)[0].settings


# Damage


@pytest.mark.parametrize("name", sorted(_FILES - {"README.md"}))
def test_a_file_cut_off_anywhere_is_noticed(broken: Path, name: str) -> None:
    content = (broken / name).read_bytes()
    lengths = {0, 1, 8, len(content) - 2, *range(0, len(content) - 2, max(1, len(content) // 60))}
    for length in sorted(lengths):
        (broken / name).write_bytes(content[:length])
        with pytest.raises(ModelFormatError, match=name):
            load_model(broken)


@pytest.mark.parametrize("name", ["model.safetensors", "prototypes.json"])
def test_a_changed_byte_is_noticed(broken: Path, name: str) -> None:
    content = (broken / name).read_bytes()
    draw = random.Random(0)
    for _ in range(80):
        place = draw.randrange(len(content))
        flipped = bytes([content[place] ^ (1 << draw.randrange(8))])
        (broken / name).write_bytes(content[:place] + flipped + content[place + 1 :])
        with pytest.raises(ModelFormatError, match=name):
            load_model(broken)


def test_a_changed_byte_of_the_configuration_is_noticed_or_harmless(
    saved: Path, broken: Path
) -> None:
    content = (broken / "config.json").read_bytes()
    whole = load_model(saved)[0]
    draw = random.Random(0)
    for _ in range(150):
        place = draw.randrange(len(content))
        flipped = bytes([content[place] ^ (1 << draw.randrange(8))])
        (broken / "config.json").write_bytes(content[:place] + flipped + content[place + 1 :])
        try:
            model = load_model(broken)[0]
        except ModelFormatError:
            continue
        assert model.settings == whole.settings
        assert model.training == whole.training


@pytest.mark.parametrize("name", sorted(_FILES - {"README.md"}))
def test_a_missing_file_is_named(broken: Path, name: str) -> None:
    (broken / name).unlink()
    with pytest.raises(ModelFormatError, match=name):
        load_model(broken)


@pytest.mark.parametrize("name", sorted(_FILES - {"README.md"}))
def test_a_folder_in_a_files_place_is_named(broken: Path, name: str) -> None:
    (broken / name).unlink()
    (broken / name).mkdir()
    with pytest.raises(ModelFormatError, match=name):
        load_model(broken)


@pytest.mark.parametrize(
    "content",
    [b"", b"null", b"[]", b"3", b"{}", b"\xff\xfe", b"[" * 100_000, b'{"format_version": NaN}'],
)
def test_a_configuration_that_is_none_is_refused(broken: Path, content: bytes) -> None:
    (broken / "config.json").write_bytes(content)
    with pytest.raises(ModelFormatError):
        load_model(broken)


def test_a_path_that_is_no_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "nothing", tmp_path / "file"):
        with pytest.raises(ModelFormatError, match="there is no model directory"):
            load_model(path)
    with pytest.raises(ModelFormatError, match=r"config\.json cannot be read"):
        load_model(tmp_path)


@pytest.mark.parametrize("version", [FORMAT_VERSION + 1, 0, "1", None, [1]])
def test_another_format_version_is_refused(broken: Path, version: Any) -> None:
    edit_json(broken, lambda config: config.update(format_version=version), sign=True)
    with pytest.raises(ModelFormatError, match=r"format_version .* this release reads 1"):
        load_model(broken)


def leaves(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every value in a tree of dictionaries and lists, inner nodes included."""
    if path:
        yield path
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from leaves(value, (*path, key))
    elif isinstance(tree, list):
        for place, value in enumerate(tree):
            yield from leaves(value, (*path, place))


def put(tree: Any, path: tuple[Any, ...], value: Any) -> None:
    for key in path[:-1]:
        tree = tree[key]
    tree[path[-1]] = value


def remove(tree: Any, path: tuple[Any, ...]) -> None:
    for key in path[:-1]:
        tree = tree[key]
    del tree[path[-1]]


_ODD = [None, True, -1, 3, 10**400, 1e308, "odd", "", [], ["a"], {}, {"a": 1}]


def test_every_hand_edit_of_the_configuration_is_noticed(broken: Path) -> None:
    original = json.loads((broken / "config.json").read_text(encoding="utf-8"))
    for path in leaves(original):
        for value in (None, "odd", 3):
            config = copy.deepcopy(original)
            put(config, path, value)
            if config == original:
                continue
            (broken / "config.json").write_text(json.dumps(config), encoding="utf-8")
            with pytest.raises(ModelFormatError):
                load_model(broken)


def use(model: Model) -> None:
    """Do everything with a model that needs no encoder."""
    width = len(model.centring.mean)
    embeddings, lengths = stack_sequences([np.ones((2, width)), np.zeros((1, width))])
    prediction = model.read(model.match(embeddings, lengths))
    assert np.isfinite(prediction.probabilities).all()
    model.labels.decode(prediction.probabilities)
    model_card(model)


def test_a_forged_configuration_is_refused_or_of_use(broken: Path) -> None:
    """Right checksums do not make wrong values pass."""
    original = json.loads((broken / "config.json").read_text(encoding="utf-8"))
    for path in leaves(original):
        if path[0] in ("format_version", "sha256"):
            continue
        for value in [*_ODD, "(gone)"]:
            config = copy.deepcopy(original)
            if value == "(gone)":
                remove(config, path)
            else:
                put(config, path, value)
            config["sha256"]["config.json"] = storage._config_sha256(config)
            (broken / "config.json").write_text(json.dumps(config), encoding="utf-8")
            try:
                model = load_model(broken)[0]
            except ModelFormatError:
                continue
            use(model)


def test_forged_prototypes_are_refused_or_of_use(broken: Path) -> None:
    original = json.loads((broken / "prototypes.json").read_text(encoding="utf-8"))
    ways = [way for way in leaves(original) if len(way) < 2 or way[1] < 2]
    for path in ways:
        for value in [*_ODD, "(gone)"]:
            listed = copy.deepcopy(original)
            if value == "(gone)":
                remove(listed, path)
            else:
                put(listed, path, value)
            replace_file(broken, "prototypes.json", json.dumps(listed).encode())
            try:
                model = load_model(broken)[0]
            except ModelFormatError:
                continue
            use(model)


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.pop("network.prototypes"),
        lambda t: t.pop("centring.mean"),
        lambda t: t.pop("centring.scale"),
        lambda t: t.pop("network.reader.head.bias"),
        lambda t: t.pop("adapter.up.weight"),
        lambda t: t.update({"network.more": torch.zeros(2)}),
        lambda t: t.update({"network.prototypes": t["network.prototypes"][:-1]}),
        lambda t: t.update({"network.prototypes": t["network.prototypes"][:, :-1].contiguous()}),
        lambda t: t.update({"network.prototypes": t["network.prototypes"][:0]}),
        lambda t: t.update({"network.prototypes": torch.zeros(())}),
        lambda t: t.update({"centring.mean": torch.zeros(())}),
        lambda t: t.update({"centring.mean": torch.zeros(4, 8)}),
        lambda t: t.update({"centring.scale": torch.zeros(2)}),
        lambda t: t.update({"centring.mean": t["centring.mean"] * torch.nan}),
        lambda t: t.update({"centring.mean": t["centring.mean"].half()}),
        lambda t: t.update({"network.reader.head.bias": torch.zeros(2, dtype=torch.int64)}),
    ],
)
def test_forged_weights_are_refused(broken: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    tensors = load_tensors((broken / "model.safetensors").read_bytes())
    change(tensors)
    replace_file(broken, "model.safetensors", save_tensors(tensors))
    with pytest.raises(ModelFormatError):
        load_model(broken)


@pytest.mark.parametrize("name", ["reader_size", "adapter_size"])
def test_a_forged_size_costs_no_memory(broken: Path, name: str) -> None:
    edit_json(broken, lambda config: config["settings"].update({name: 65_536}), sign=True)
    with pytest.raises(ModelFormatError):
        load_model(broken)


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.json"])
def test_a_damaged_encoder_is_noticed(
    tuned: tuple[ProtoryNetClassifier, Path], tmp_path: Path, name: str
) -> None:
    path = Path(shutil.copytree(tuned[1], tmp_path / "broken"))
    file = path / "encoder" / name
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(ModelFormatError, match="encoder was changed or cut off"):
        ProtoryNetClassifier.load(path)


def test_a_missing_encoder_is_noticed(
    tuned: tuple[ProtoryNetClassifier, Path], tmp_path: Path
) -> None:
    path = Path(shutil.copytree(tuned[1], tmp_path / "broken"))
    shutil.rmtree(path / "encoder")
    with pytest.raises(ModelFormatError, match="encoder"):
        ProtoryNetClassifier.load(path)


def test_another_encoder_than_the_models_is_refused(saved: Path, tiny_bert_folder: Path) -> None:
    with pytest.raises(EncoderError, match="was made with another encoder: 'hashing'"):
        ProtoryNetClassifier.load(saved, encoder=load_encoder(tiny_bert_folder, device="cpu"))


def test_an_encoder_that_cannot_be_found_is_named(saved: Path) -> None:
    with pytest.raises(EncoderError, match="hashing"):
        ProtoryNetClassifier.load(saved)


# Saving


def test_saving_again_replaces_the_old_model(
    clf: ProtoryNetClassifier, reviews: Any, encoder: Any, quick: Settings, tmp_path: Path
) -> None:
    path = tmp_path / "model"
    make(encoder, quick).fit(reviews.texts, [1, 2] * 30).save(path)
    clf.save(path)
    assert load_model(path)[0].labels.classes == ("bad", "good")
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]


def test_nothing_that_is_no_model_is_ever_overwritten(
    clf: ProtoryNetClassifier, tiny_bert_folder: Path, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    encoder = Path(shutil.copytree(tiny_bert_folder, tmp_path / "encoder"))
    before = listing(tmp_path)
    for path in (file, folder, encoder):
        with pytest.raises(InputError, match="exists and is not a model directory"):
            clf.save(path)
    assert listing(tmp_path) == before


def test_what_somebody_put_into_a_model_directory_is_never_lost(
    clf: ProtoryNetClassifier, tmp_path: Path
) -> None:
    clf.save(tmp_path / "model")
    notes = tmp_path / "model" / "notes.txt"
    notes.write_text("mine")
    with pytest.raises(InputError, match=r"holds 'notes\.txt', which is no part"):
        clf.save(tmp_path / "model")
    assert notes.read_text() == "mine"


def test_a_model_may_be_saved_to_an_empty_directory(
    clf: ProtoryNetClassifier, tmp_path: Path
) -> None:
    clf.save(tmp_path)
    assert is_model_directory(tmp_path)


@pytest.mark.parametrize("name", ["model.safetensors", "prototypes.json", "config.json"])
def test_a_full_disk_while_saving_leaves_the_old_model_whole(
    clf: ProtoryNetClassifier,
    saved: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    path = Path(shutil.copytree(saved, tmp_path / "model"))
    real = Path.write_bytes

    def write_bytes(self: Path, content: bytes) -> int:
        if self.name == name:
            real(self, content[: len(content) // 2])
            raise OSError(28, "No space left on device")
        return real(self, content)

    monkeypatch.setattr(Path, "write_bytes", write_bytes)
    with pytest.raises(OSError, match="No space left"):
        clf.save(path)
    monkeypatch.undo()
    assert listing(path) == listing(saved)
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]


def test_an_interrupt_while_saving_leaves_the_old_model_whole(
    tuned: tuple[ProtoryNetClassifier, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from protorynet.encoders import TransformerEncoder

    path = Path(shutil.copytree(tuned[1], tmp_path / "model"))

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(TransformerEncoder, "save", interrupt)
    with pytest.raises(KeyboardInterrupt):
        tuned[0].save(path)
    assert listing(path) == listing(tuned[1])
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]


# The model card


def test_the_card_tells_what_the_model_is(clf: ProtoryNetClassifier, saved: Path) -> None:
    card = (saved / "README.md").read_text(encoding="utf-8")
    assert card == model_card(clf.model_)
    for item in clf.prototypes_:
        assert item.sentence in card
    assert "bad (50.0%), good (50.0%)" in card
    assert "hashing" in card


def test_text_cannot_break_out_of_the_card(
    reviews: Any, encoder: Any, quick: Settings, tmp_path: Path
) -> None:
    labels = ["<script>alert(1)</script>", "a|b\n# [x](http://y) `c`"] * 6
    make(encoder, quick).fit(reviews.texts[:12], labels).save(tmp_path / "model")
    card = (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
    assert "<script>" not in card.replace("\\<", "")
    rows = [line for line in card.splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in rows} == {6}


def test_saving_needs_a_fitted_model(tmp_path: Path, encoder: Any) -> None:
    from protorynet import NotFittedError

    with pytest.raises(NotFittedError):
        ProtoryNetClassifier(encoder).save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_save_model_takes_a_model_alone(clf: ProtoryNetClassifier, tmp_path: Path) -> None:
    save_model(clf.model_, tmp_path / "model")
    model, folder = load_model(tmp_path / "model")
    assert model.prototypes == clf.prototypes_
    assert folder is None


# Edits


@pytest.fixture(scope="module")
def edited(
    clf: ProtoryNetClassifier, reviews: Any, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A model directory with two edits that stand and one that is undone."""
    path = tmp_path_factory.mktemp("edited") / "model"
    changed = copy.deepcopy(clf)
    ids = changed.prototypes_.ids.tolist()
    changed.edit(reviews.texts, reviews.labels, replace={ids[0]: "The pool was perfect."})
    changed.edit(rename={ids[0]: "the pool"})
    changed.undo_edit()
    changed.edit(rename={ids[1]: "Zimmer ☃ <b>"})
    changed.save(path)
    return path


@pytest.fixture
def damaged(edited: Path, tmp_path: Path) -> Path:
    """A copy of an edited model to damage."""
    return Path(shutil.copytree(edited, tmp_path / "damaged"))


def test_edits_come_back_with_the_model(edited: Path, tmp_path: Path) -> None:
    assert set(listing(edited)) == {*_FILES, "edits.json", "edits.safetensors"}
    model = load_model(edited)[0]
    assert [entry.number for entry in model.edits.standing] == [1, 3]
    assert [state.number for state in model.edits.states] == [1, 3]
    assert model.prototypes[1].name == "Zimmer ☃ <b>"
    save_model(model, tmp_path / "again")
    assert listing(tmp_path / "again") == listing(edited)


@pytest.mark.parametrize("name", ["edits.json", "edits.safetensors"])
def test_a_tampered_log_of_edits_is_refused_by_name(damaged: Path, name: str) -> None:
    content = (damaged / name).read_bytes()
    for change in (content[:-1], content + b" ", content.replace(b"1", b"2", 1), b""):
        (damaged / name).write_bytes(change)
        with pytest.raises(ModelFormatError, match=name):
            load_model(damaged)
    (damaged / name).unlink()
    with pytest.raises(ModelFormatError, match=name):
        load_model(damaged)


def test_a_log_of_edits_from_another_model_is_refused(edited: Path, broken: Path) -> None:
    shutil.copy(edited / "edits.json", broken)
    with pytest.raises(ModelFormatError, match=r"edits\.json does not belong to this model"):
        load_model(broken)


def test_a_log_of_edits_cannot_be_hidden(damaged: Path) -> None:
    for name in ("edits.json", "edits.safetensors"):
        (damaged / name).unlink()
    edit_json(damaged, lambda config: config.pop("edits"))
    with pytest.raises(ModelFormatError, match=r"config\.json was changed"):
        load_model(damaged)


def test_a_forged_log_of_edits_is_refused_or_of_use(damaged: Path) -> None:
    original = json.loads((damaged / "edits.json").read_text(encoding="utf-8"))
    ways = [way for way in leaves(original) if len(way) < 4 or (way[0], way[3]) == ("states", 0)]
    for path in ways:
        for value in (None, 3, "odd", [], {"a": 1}, "(gone)"):
            log = copy.deepcopy(original)
            if value == "(gone)":
                remove(log, path)
            else:
                put(log, path, value)
            replace_file(damaged, "edits.json", json.dumps(log).encode())
            try:
                model = load_model(damaged)[0]
            except ModelFormatError:
                continue
            use(model.undone() if model.edits.states else model)


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.clear(),
        lambda t: t.pop("1.network.prototypes"),
        lambda t: t.update({"1.network.more": torch.zeros(2)}),
        lambda t: t.update({"3.network.prototypes": t["3.network.prototypes"][:-1]}),
        lambda t: t.update({"3.network.prototypes": t["3.network.prototypes"] * torch.nan}),
    ],
)
def test_forged_states_are_refused(damaged: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    tensors = load_tensors((damaged / "edits.safetensors").read_bytes())
    change(tensors)
    replace_file(damaged, "edits.safetensors", save_tensors(tensors))
    with pytest.raises(ModelFormatError):
        load_model(damaged)


@pytest.mark.parametrize("count", [1, 4, -1, True, "3", [3]])
def test_a_forged_number_of_edits_is_refused(damaged: Path, count: Any) -> None:
    edit_json(damaged, lambda config: config.update(edits=count), sign=True)
    with pytest.raises(ModelFormatError):
        load_model(damaged)


def test_edits_that_share_their_weights_are_saved(
    clf: ProtoryNetClassifier, tmp_path: Path
) -> None:
    changed = copy.deepcopy(clf)
    for number in range(12):
        changed.edit(rename={changed.prototypes_[0].id: f"name {number}"})
    changed.save(tmp_path / "model")
    model = load_model(tmp_path / "model")[0]
    assert (len(model.edits.entries), len(model.edits.states)) == (12, 10)
    assert model.undone().prototypes[0].name == "name 10"


def test_an_edited_model_whose_edits_are_all_undone_keeps_its_log(
    clf: ProtoryNetClassifier, tmp_path: Path
) -> None:
    changed = copy.deepcopy(clf)
    changed.edit(rename={changed.prototypes_[0].id: "a name"})
    changed.undo_edit()
    changed.save(tmp_path / "model")
    model = load_model(tmp_path / "model")[0]
    assert (len(model.edits.entries), model.edits.states) == (1, ())
    assert model.prototypes == clf.prototypes_


def test_the_automata_before_an_edit_come_back_with_the_model(
    clf: ProtoryNetClassifier, edited: Path
) -> None:
    model = load_model(edited)[0]
    assert model.automata not in ((), clf.model_.automata)
    once = model.undone()
    assert once.automata == model.automata
    assert once.undone().automata == clf.model_.automata


def test_automata_that_states_share_are_written_once(
    clf: ProtoryNetClassifier, tmp_path: Path
) -> None:
    changed = copy.deepcopy(clf)
    for number in range(3):
        changed.edit(rename={changed.prototypes_[0].id: f"name {number}"})
    changed.edit(drop=[changed.prototypes_[0].id])
    changed.edit(drop=[changed.prototypes_[0].id])
    changed.save(tmp_path / "model")
    log = json.loads((tmp_path / "model" / "edits.json").read_bytes())
    assert len(log["automata"]) == 1
    assert [state["automata"] for state in log["states"]] == [0, 0, 0, 0, None]


def test_a_log_from_before_automata_were_kept_knows_those_that_only_names_followed(
    damaged: Path,
) -> None:
    log = json.loads((damaged / "edits.json").read_bytes())
    del log["automata"]
    for state in log["states"]:
        del state["automata"]
    replace_file(damaged, "edits.json", json.dumps(log).encode())
    model = load_model(damaged)[0]
    assert model.undone().automata == model.automata != ()
    assert model.undone().undone().automata == ()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            lambda v: v["automata"][0][0].update(start=99),
            r"edits\.json: the automaton is not valid",
        ),
        (lambda v: v["automata"][0].reverse(), "one automaton for each class"),
        (lambda v: v["automata"][0][0]["prototypes"].reverse(), "other prototypes than the model"),
        (lambda v: v.update(automata=[]), "a state has the automata 0"),
        (lambda v: v["states"][0].update(automata=-1), "a state has the automata -1"),
        (lambda v: v["states"][0].update(automata=True), "a state has the automata True"),
        (lambda v: v.update(automata=None), "is not a valid model directory"),
    ],
)
def test_forged_automata_of_a_state_are_refused(
    damaged: Path, change: Callable[[dict[str, Any]], Any], reason: str
) -> None:
    values = json.loads((damaged / "edits.json").read_bytes())
    change(values)
    replace_file(damaged, "edits.json", json.dumps(values).encode())
    with pytest.raises(ModelFormatError, match=reason):
        load_model(damaged)


# Automata


def test_every_class_has_its_automaton(clf: ProtoryNetClassifier) -> None:
    assert [automaton.label for automaton in clf.model_.automata] == ["bad", "good"]


def test_automata_stay_away_where_a_model_has_none(
    clf: ProtoryNetClassifier, tmp_path: Path
) -> None:
    save_model(replace(clf.model_, automata=()), tmp_path / "model")
    assert not (tmp_path / "model" / "automata.json").exists()
    assert load_model(tmp_path / "model")[0].automata == ()


def test_automata_that_the_configuration_does_not_know_are_refused(broken: Path) -> None:
    edit_json(broken, lambda config: config.pop("automata"), sign=True)
    with pytest.raises(ModelFormatError, match=r"automata\.json does not belong to this model"):
        load_model(broken)


def test_tampered_automata_are_refused_by_name(broken: Path) -> None:
    file = broken / "automata.json"
    file.write_bytes(file.read_bytes().replace(b'"start": ', b'"start":  '))
    with pytest.raises(ModelFormatError, match=r"automata\.json was changed"):
        load_model(broken)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda v: v["automata"][0].update(start=99), "automata.json: the automaton is not valid"),
        (lambda v: v["automata"].pop(), "one automaton for each class"),
        (lambda v: v["automata"].reverse(), "one automaton for each class"),
        (lambda v: v.update(automata=None), "is not a valid model directory"),
        (lambda v: v.update(automata={"a": 1}), "the automaton is not valid"),
        (lambda v: v.clear(), "is not a valid model directory"),
        (lambda v: v["automata"][0]["prototypes"].reverse(), "other prototypes than the model"),
    ],
)
def test_forged_automata_are_refused(
    broken: Path, change: Callable[[dict[str, Any]], Any], reason: str
) -> None:
    values = json.loads((broken / "automata.json").read_bytes())
    change(values)
    replace_file(broken, "automata.json", json.dumps(values).encode())
    with pytest.raises(ModelFormatError, match=reason):
        load_model(broken)


def test_a_model_from_before_automata_were_kept_has_none() -> None:
    old = Path(__file__).parent / "golden" / "v1" / "vectors" / "model"
    assert load_model(old)[0].automata == ()


def test_the_card_lists_the_edits(clf: ProtoryNetClassifier, edited: Path) -> None:
    card = (edited / "README.md").read_text(encoding="utf-8")
    log = load_model(edited)[0].edits
    first, second, third = card.split("## Edited by hand since\n\n")[1].splitlines()
    assert "replaced by “The pool was perfect.”" in first
    assert "accuracy on held-out documents" in first
    assert f"(undone {log.entries[1].undone})" in second
    assert third.endswith(r"named “Zimmer ☃ \<b\>” (reader not trained again)")
    assert "Edited by hand" not in model_card(clf.model_)


def test_the_card_warns_where_the_reader_is_behind(clf: ProtoryNetClassifier) -> None:
    changed = copy.deepcopy(clf)
    changed.edit(drop=[changed.prototypes_[0].id])
    assert "**Not final:**" in model_card(changed.model_)
    changed.undo_edit()
    assert "**Not final:**" not in model_card(changed.model_)


def test_the_card_tells_of_the_automata(clf: ProtoryNetClassifier) -> None:
    assert "one automaton per class" in model_card(clf.model_)
    assert "automaton" not in model_card(replace(clf.model_, automata=()))
