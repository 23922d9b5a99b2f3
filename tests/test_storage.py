"""The model directory: it comes back the same, and no damage to it goes unnoticed."""

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

from forging import forge
from protorynet import ProtoryNetClassifier
from protorynet.encoders import load_encoder, stack_sequences
from protorynet.errors import EncoderError, InputError, ModelFormatError
from protorynet.model import Model
from protorynet.report import model_card
from protorynet.storage import FORMAT_VERSION, is_model_directory, load_model, save_model

FILES = ["automata.json", "config.json", "model.safetensors", "prototypes.json"]
EDIT_FILES = ["edits.json", "edits.safetensors"]
GONE = object()


def make(encoder: Any, settings: Any, **options: Any) -> ProtoryNetClassifier:
    return ProtoryNetClassifier(encoder, settings=settings, device="cpu", cache=False, **options)


def load(path: Path, **options: Any) -> ProtoryNetClassifier:
    return ProtoryNetClassifier.load(path, device="cpu", cache=False, **options)


@pytest.fixture(scope="module")
def saved(fitted, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model"
    fitted.save(path)
    return path


@pytest.fixture(scope="module")
def edited(encoder, single, reviews, tmp_path_factory):
    """A model directory with two edits that stand and one that is undone."""
    path = tmp_path_factory.mktemp("edited") / "model"
    changed = make(encoder, single).fit(reviews.texts, reviews.labels)
    ids = changed.prototypes_.ids.tolist()
    changed.edit(reviews.texts, reviews.labels, add={ids[0]: "The pool was a marvel."})
    changed.edit(rename={ids[0]: "the pool"})
    changed.undo_edit()
    changed.edit(rename={ids[1]: "Zimmer ☃ <b>"})
    changed.save(path)
    return path


@pytest.fixture
def broken(saved, tmp_path):
    """A copy to damage."""
    return Path(shutil.copytree(saved, tmp_path / "broken"))


@pytest.fixture
def damaged(edited, tmp_path):
    """A copy of an edited model to damage."""
    return Path(shutil.copytree(edited, tmp_path / "damaged"))


def listing(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_loaded_model_predicts_and_explains_the_same(fitted, saved, encoder, unseen_reviews):
    loaded = load(saved, encoder=encoder)
    texts = unseen_reviews.texts
    np.testing.assert_array_equal(loaded.predict_proba(texts), fitted.predict_proba(texts))
    assert loaded.predict(texts).tolist() == fitted.predict(texts).tolist()
    assert loaded.explain(texts) == fitted.explain(texts)
    assert max(loaded.model_.network.sizes) > 1
    facts = "prototypes labels encoder splitter settings training automata familiar reach"
    for name in facts.split():
        assert getattr(loaded.model_, name) == getattr(fitted.model_, name)
    assert [automaton.label for automaton in loaded.model_.automata] == ["bad", "good"]


@pytest.mark.parametrize(
    "labels",
    [[True, False], ["<script>alert(1)</script>", "☃ a|b\n# [x](http://y) `c`"], [[1, 0], [1, 1]]],
    ids=["bool", "hostile", "multilabel"],
)
def test_classes_come_back_as_they_were_and_cannot_break_out_of_the_card(
    reviews, encoder, single, tmp_path, labels
):
    clf = make(encoder, single).fit(reviews.texts[:12], labels * 6)
    clf.save(tmp_path / "model")
    loaded = load(tmp_path / "model", encoder=encoder)
    assert loaded.classes_.tolist() == clf.classes_.tolist()
    assert loaded.classes_.dtype == clf.classes_.dtype
    assert loaded.model_.labels == clf.model_.labels
    card = (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
    assert "<script>" not in card.replace("\\<", "")
    tables = [part.splitlines() for part in card.split("\n\n") if part.startswith("|")]
    for rows in tables:
        assert len({line.replace("\\|", "").count("|") for line in rows}) == 1
    assert tables


@pytest.fixture
def with_encoder(tuned, tmp_path):
    """A model directory with its own fine-tuned encoder, to damage."""
    tuned.save(tmp_path / "tuned")
    return tmp_path / "tuned"


def test_a_fine_tuned_encoder_travels_with_the_model(tuned, with_encoder, reviews, tmp_path):
    loaded = load(with_encoder)
    given = loaded.predict_proba(reviews.texts)
    np.testing.assert_allclose(given, tuned.predict_proba(reviews.texts), atol=1e-6)
    loaded.save(tmp_path / "again")
    np.testing.assert_array_equal(load(tmp_path / "again").predict_proba(reviews.texts), given)


def test_saving_twice_writes_the_same_files(fitted, saved, tmp_path):
    fitted.save(tmp_path / "model")
    assert sorted(listing(saved)) == sorted([*FILES, "README.md", "words.json"])
    assert listing(tmp_path / "model") == listing(saved)


@pytest.mark.parametrize("name", [*FILES, *EDIT_FILES, "words.json"])
def test_a_file_that_is_cut_changed_replaced_or_missing_is_named(saved, damaged, name):
    if name == "words.json":
        shutil.rmtree(damaged)
        shutil.copytree(saved, damaged)
    content = (damaged / name).read_bytes()
    draw = random.Random(0)
    variants = [content[: draw.randrange(len(content) - 1)] for _ in range(10)]
    if name != "config.json":
        for _ in range(20):
            at = draw.randrange(len(content))
            flipped = bytes([content[at] ^ (1 << draw.randrange(8))])
            variants.append(content[:at] + flipped + content[at + 1 :])
    for variant in [b"", *variants]:
        (damaged / name).write_bytes(variant)
        with pytest.raises(ModelFormatError, match=name):
            load_model(damaged)
    for put_in_its_place in (lambda: None, (damaged / name).mkdir):
        (damaged / name).unlink(missing_ok=True)
        put_in_its_place()
        with pytest.raises(ModelFormatError, match=name):
            load_model(damaged)


def test_a_changed_byte_of_the_configuration_is_noticed_or_harmless(saved, broken):
    content = (broken / "config.json").read_bytes()
    whole = load_model(saved)[0]
    draw = random.Random(0)
    for _ in range(150):
        at = draw.randrange(len(content))
        flipped = bytes([content[at] ^ (1 << draw.randrange(8))])
        (broken / "config.json").write_bytes(content[:at] + flipped + content[at + 1 :])
        try:
            model = load_model(broken)[0]
        except ModelFormatError:
            continue
        assert (model.settings, model.training) == (whole.settings, whole.training)


def test_a_path_that_is_no_directory_is_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "nothing", tmp_path / "file"):
        with pytest.raises(ModelFormatError, match="there is no model directory"):
            load_model(path)
    with pytest.raises(ModelFormatError, match=r"config\.json cannot be read"):
        load_model(tmp_path)


_VERSION = r"format_version .* this release reads up to 2"


@pytest.mark.parametrize(
    ("folder", "change", "reason"),
    [
        *(("broken", {"format_version": v}, _VERSION) for v in (FORMAT_VERSION + 1, 0, "1", None)),
        ("broken", {"automata": GONE}, r"automata\.json does not belong to this model"),
        *(("damaged", {"edits": count}, None) for count in (1, 4, -1, True, "3", [3])),
        ("broken", {"settings": {"reader_size": 65_536}}, None),  # which costs no memory
        ("damaged", {"settings": {"adapter_size": 65_536}}, None),
    ],
)
def test_a_forged_configuration_is_refused_by_what_is_wrong(folder, change, reason, request):
    path = request.getfixturevalue(folder)
    config = json.loads((path / "config.json").read_bytes())
    changed = {**change, "settings": {**config["settings"], **change.get("settings", {})}}
    config = {key: value for key, value in {**config, **changed}.items() if value is not GONE}
    forge(path, "config.json", json.dumps(config).encode())
    with pytest.raises(ModelFormatError, match=reason):
        load_model(path)


def leaves(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every value in a tree of dictionaries and lists, inner nodes included."""
    if path:
        yield path
    if isinstance(tree, list):
        tree = dict(enumerate(tree))
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from leaves(value, (*path, key))


def forge_values(original: Any, ways: list[tuple[Any, ...]]) -> Iterator[Any]:
    """Yield copies of a tree in each of which one value is another, or gone: by turns some odd."""
    for number, (*above, last) in enumerate(ways):
        for value in ODD[number % 4 :: 4]:
            tree = copy.deepcopy(original)
            inside = tree
            for key in above:
                inside = inside[key]
            if value is GONE:
                del inside[last]
            else:
                inside[last] = value
            yield tree


ODD = [None, True, -1, 3, 10**400, 1e308, "odd", ["a"], {"a": 1}, GONE]


def check_use(path: Path) -> None:
    """Do everything with a model that needs no encoder, if it is not refused."""
    try:
        model: Model = load_model(path)[0]
    except ModelFormatError:
        return
    for each in (model, model.undone()) if model.edits.states else (model,):
        width = each.width
        embeddings, lengths = stack_sequences([np.ones((2, width)), np.zeros((1, width))])
        prediction = each.read(each.match(embeddings, lengths))
        assert np.isfinite(prediction.probabilities).all()
        each.labels.decode(prediction.probabilities)
        model_card(each)


def test_a_forged_configuration_is_refused_or_of_use(broken):
    """Right checksums do not make wrong values pass."""
    original = json.loads((broken / "config.json").read_bytes())
    ways = [way for way in leaves(original) if way[0] not in ("format_version", "sha256")]
    for config in forge_values(original, ways):
        forge(broken, "config.json", json.dumps(config).encode())
        check_use(broken)


@pytest.mark.parametrize(
    ("folder", "name"), [("broken", "prototypes.json"), ("damaged", "edits.json")]
)
def test_forged_prototypes_and_edits_are_refused_or_of_use(folder, name, request):
    path = request.getfixturevalue(folder)
    original = json.loads((path / name).read_bytes())
    ways = [way for way in leaves(original) if all(key in (0, 1) for key in way[1::2])]
    for values in forge_values(original, ways):
        forge(path, name, json.dumps(values).encode())
        check_use(path)


FORGED = {
    "model.safetensors": [
        lambda t: t.pop("network.members"),
        lambda t: t.pop("adapter.up.weight"),
        lambda t: t.update({"network.more": torch.zeros(2)}),
        lambda t: t.update({"network.members": t["network.members"][:-1]}),
        lambda t: t.update({"network.members": t["network.members"][:, :-1].contiguous()}),
        lambda t: t.update({"centring.mean": torch.zeros(())}),
        lambda t: t.update({"centring.scale": torch.zeros(2)}),
        lambda t: t.update({"centring.mean": t["centring.mean"] * torch.nan}),
        lambda t: t.update({"centring.mean": t["centring.mean"].half()}),
        lambda t: t.update({"network.reader.head.bias": torch.zeros(2, dtype=torch.int64)}),
    ],
    "edits.safetensors": [
        lambda t: t.clear(),
        lambda t: t.pop("vectors"),
        lambda t: t.update({"1.network.more": torch.zeros(2)}),
        lambda t: t.update({"vectors": t["vectors"][:-1]}),
        lambda t: t.update({"vectors": t["vectors"] * torch.nan}),
    ],
}


@pytest.mark.parametrize(
    ("name", "change"), [(name, change) for name, changes in FORGED.items() for change in changes]
)
def test_forged_weights_and_states_are_refused(broken, damaged, name, change):
    path = damaged if name in EDIT_FILES else broken
    tensors = load_tensors((path / name).read_bytes())
    change(tensors)
    forge(path, name, save_tensors(tensors))
    with pytest.raises(ModelFormatError):
        load_model(path)


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.json", ""])
def test_a_damaged_or_missing_encoder_is_noticed(with_encoder, name):
    file = with_encoder / "encoder" / name
    if name:
        file.write_bytes(file.read_bytes()[:-1])
    else:
        shutil.rmtree(file)
    with pytest.raises(ModelFormatError, match="encoder was changed or cut off"):
        load(with_encoder)


def test_another_encoder_and_one_that_cannot_be_found_are_named(saved, tiny_bert_folder):
    with pytest.raises(EncoderError, match="was made with another encoder: 'hashing'"):
        load(saved, encoder=load_encoder(tiny_bert_folder, device="cpu"))
    with pytest.raises(EncoderError, match="hashing"):
        load(saved)


def test_an_encoders_folder_is_no_model_directory(fitted, tiny_bert_folder):
    assert not is_model_directory(tiny_bert_folder)
    with pytest.raises(InputError, match="exists and is not a model directory"):
        fitted.save(tiny_bert_folder)


def test_edits_come_back_with_the_model(edited, tmp_path):
    assert sorted(listing(edited)) == sorted([*FILES, *EDIT_FILES, "README.md"])
    model = load_model(edited)[0]
    assert [entry.number for entry in model.edits.standing] == [1, 3]
    assert [state.number for state in model.edits.states] == [1, 3]
    assert model.prototypes[1].name == "Zimmer ☃ <b>"
    assert model.automata != ()
    assert model.undone().automata == model.automata
    assert model.undone().undone().automata not in ((), model.automata)
    save_model(model, tmp_path / "again")
    assert listing(tmp_path / "again") == listing(edited)


def test_a_log_of_edits_cannot_be_added_or_hidden(edited, broken, damaged):
    shutil.copy(edited / "edits.json", broken)
    with pytest.raises(ModelFormatError, match=r"edits\.json does not belong to this model"):
        load_model(broken)
    for name in EDIT_FILES:
        (damaged / name).unlink()
    config = json.loads((damaged / "config.json").read_bytes())
    del config["edits"]
    (damaged / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelFormatError, match=r"config\.json was changed"):
        load_model(damaged)


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        ("automata", lambda v: v["automata"][0].update(start=99), "automata.json: the automaton"),
        ("automata", lambda v: v["automata"].pop(), "one automaton for each class"),
        ("automata", lambda v: v["automata"].reverse(), "one automaton for each class"),
        ("automata", lambda v: v.update(automata={"a": 1}), "the automaton is not valid"),
        ("automata", lambda v: v["automata"][0]["prototypes"].reverse(), "other prototypes than"),
        ("edits", lambda v: v["automata"][0][0].update(start=99), "edits.json: the automaton"),
        ("edits", lambda v: v["automata"][0].reverse(), "one automaton for each class"),
        ("edits", lambda v: v["automata"][0][0]["prototypes"].reverse(), "other prototypes than"),
        ("edits", lambda v: v.update(automata=[]), "a state has other automata than the 0 kept"),
        ("edits", lambda v: v["states"][0].update(automata=-1), "a state has other automata than"),
        ("edits", lambda v: v["states"][0]["vectors"].pop(), "is not a valid model directory"),
        ("edits", lambda v: v["states"][0].update(vectors=[-1]), "other vectors of members"),
    ],
)
def test_forged_automata_and_states_are_refused(damaged, name, change, reason):
    forge(damaged, f"{name}.json", change)
    with pytest.raises(ModelFormatError, match=reason):
        load_model(damaged)


def pattern(**changes: Any) -> Callable[[Any], object]:
    return lambda a: a.update(patterns=[{"prototypes": [1], "support": 1, "purity": 1} | changes])


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a.pop("traffic"),
        lambda a: a.update(states=[], transitions=[], traffic=[]),
        *(lambda a, to=to: a["transitions"][0].__setitem__(0, to) for to in (99, -1)),
        lambda a: a["transitions"][0].pop(),
        lambda a: a["traffic"][0].__setitem__(0, -1),
        lambda a: a["states"][0].update(number=7),
        lambda a: a["states"][0].update(belief=1.5),
        lambda a: a.update(prototypes=a["prototypes"][:1] * len(a["prototypes"])),
        pattern(prototypes=[9999]),
        pattern(purity=2),
        lambda a: a.update(fidelity_train=-0.1),
        lambda a: a.update(n_train=-1),
    ],
)
def test_a_broken_automaton_is_refused(broken, change):
    forge(broken, "automata.json", lambda values: change(values["automata"][0]))
    with pytest.raises(ModelFormatError, match="the automaton is not valid: "):
        load_model(broken)


def test_the_card_tells_what_the_model_is(fitted, saved):
    card = (saved / "README.md").read_text(encoding="utf-8")
    assert card == model_card(fitted.model_)
    shown = [item.sentence for item in fitted.prototypes_]
    for words in (*shown, "bad (50.0%), good (50.0%)", "hashing", "one automaton per class"):
        assert words in card
    assert "Edited by hand" not in card
    assert "automaton" not in model_card(replace(fitted.model_, automata=()))


def test_the_card_lists_the_edits_and_warns_where_the_reader_is_behind(fitted, edited):
    card = (edited / "README.md").read_text(encoding="utf-8")
    model = load_model(edited)[0]
    log, number = model.edits, model.prototypes[0].id
    first, second, third = card.split("## Edited by hand since\n\n")[1].splitlines()
    assert f"“The pool was a marvel.” added to prototype {number}" in first
    assert "accuracy on held-out documents" in first
    assert f"(undone {log.entries[1].undone})" in second
    assert third.endswith(r"named “Zimmer ☃ \<b\>” (reader not trained again)")
    changed = copy.deepcopy(fitted)
    changed.edit(drop=[changed.prototypes_[0].id])
    assert "**Not final:**" in model_card(changed.model_)
    changed.undo_edit()
    assert "**Not final:**" not in model_card(changed.model_)
