"""Questions made from real small models: fair, readable, and the same for the same seed."""

import re
from collections import Counter
from collections.abc import Callable

import pytest
from survey_scene import small_survey

from protorynet import ProtoryNetClassifier
from protorynet.errors import InputError
from protorynet_lab.survey import (
    NONE,
    Counts,
    Option,
    Question,
    Survey,
    new_token,
    order_steps,
    parse_survey,
    read_survey,
    survey_json,
    survey_of_models,
    write_survey,
)

_FEW = Counts(match=6, diagnosis=2, trajectory=3)
SEEDS = range(5)


def plain(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text.casefold()).strip()


@pytest.fixture(scope="module")
def models(reviews, encoder, quick) -> dict[str, ProtoryNetClassifier]:
    """Two models, one of them of another seed."""
    made = {}
    options = {"settings": quick.replace(min_prototypes=6), "device": "cpu", "cache": False}
    for name, seed in (("first", 0), ("second", 3)):
        model = ProtoryNetClassifier(encoder, random_state=seed, **options)
        made[name] = model.fit(reviews.texts, reviews.labels)
    return made


@pytest.fixture(scope="module")
def turned(unseen_reviews) -> list[str]:
    """Labels of which some are wrong, so that the models make mistakes."""
    other = {"good": "bad", "bad": "good"}
    labels = enumerate(unseen_reviews.labels)
    return [other[label] if number % 3 == 0 else label for number, label in labels]


@pytest.fixture(scope="module")
def made(models, unseen_reviews, turned) -> list[Survey]:
    """Surveys of several seeds."""
    texts = unseen_reviews.texts
    return [survey_of_models(models, texts, turned, seed=s, counts=_FEW)[0] for s in SEEDS]


@pytest.fixture(scope="module")
def explain(models, unseen_reviews) -> Callable[[Question], object]:
    """What the model of a question says about its document."""
    return lambda question: models[question.id.split("/")[0]].explain(
        unseen_reviews.texts[question.row]
    )


def questions_of(task: str, *surveys: Survey) -> list[Question]:
    return [question for survey in surveys for question in survey if question.task == task]


def test_a_seed_makes_one_survey_of_the_size_asked_for(
    made, models, unseen_reviews, turned, tmp_path
):
    again = survey_of_models(models, unseen_reviews.texts, turned, seed=3, counts=_FEW)[0]
    write_survey(again, tmp_path / "survey.json")
    assert again == made[3] == read_survey(tmp_path / "survey.json")
    assert len({survey.id for survey in made}) == len(SEEDS)
    counts = Counter(question.task for question in made[0])
    assert counts == {"match": 12, "diagnosis": 4, "trajectory": 6}


def test_a_match_offers_the_models_prototype_two_others_and_none(made, models, explain):
    for question in questions_of("match", *made):
        assert 15 <= len(question.lines[0]) <= 220
        prototypes = models[question.id.split("/")[0]].prototypes_
        members = {str(item.id): {m.sentence for m in item.members} for item in prototypes}
        *shown, none = question.options
        assert none == Option(NONE, ())
        assert (
            len({plain(option.lines[0]) for option in shown})
            == len(members.keys() & {*question.keys})
            == 3
        )
        assert all(option.lines[0] in members[option.key] for option in shown)
        steps = explain(question).sentences
        step = next(step for step in steps if step.text == question.lines[0])
        assert Option(str(step.prototype), (step.prototype_sentence,)) in shown
        assert question.expected == str(step.prototype)
        assert plain(step.prototype_sentence) != plain(question.lines[0])


def test_models_are_asked_the_same_and_places_tell_nothing(made):
    for survey in made:
        first, second = ([q.lines for q in model.of("match")] for model in survey.models)
        assert first == second
    assert {q.keys.index(q.expected) for q in questions_of("match", *made)} == {0, 1, 2}


def test_the_expected_trajectory_is_the_models_and_counting_does_not_tell_it(made, explain):
    for question in questions_of("trajectory", *made):
        right = next(option for option in question.options if option.key == question.expected)
        assert right.lines == tuple(s.prototype_sentence for s in explain(question).sentences)
        for step in range(len(question.lines)):
            shown = Counter(option.lines[step] for option in question.options)
            assert sorted(shown.values()) == [2, 2]


def test_a_diagnosis_blames_a_sentence_that_speaks_for_the_wrong_label(made, explain, turned):
    for question in questions_of("diagnosis", made[0]):
        explained = explain(question)
        assert (question.given, question.truth) == (explained.label, turned[question.row])
        assert question.given != question.truth
        assert explained.sentences[int(question.expected) - 1].effect > 0


def test_labels_are_called_as_wished_and_empty_documents_left_out(models, unseen_reviews, turned):
    texts, called = [" \n ", *unseen_reviews.texts], {"good": "praise", "bad": "complaint"}
    survey, _ = survey_of_models(models, texts, ["good", *turned], counts=_FEW, names=called)
    assert {question.given for question in questions_of("diagnosis", survey)} <= {*called.values()}
    assert all(question.row > 0 for question in survey)


def test_too_few_mistakes_are_told(models, unseen_reviews):
    texts, model = unseen_reviews.texts, models["first"]
    survey, remarks = survey_of_models({"m": model}, texts, model.predict(texts), counts=_FEW)
    assert not survey.models[0].of("diagnosis")
    assert remarks == [
        "m: 0 diagnosis questions instead of 2; the data hold too few wrong predictions for "
        "short texts"
    ]


_KNOWN = survey_json(small_survey("one"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"seed": 0', '"seed": true', '"seed": Input should be a valid integer'),
        ('"expected": "b"', '"expected": "z"', "expects 'z', no option"),
        ('"key": "c"', '"key": "b"', "have the same name"),
        ('"given": "bad"', '"given": null', 'lacks "given" or "truth"'),
        ('"id": "one/match/1"', f'"id": "{"x" * 300}"', "questions.0.id"),
        ('"Far from town."', '"a", "b"', "should have"),
        ('"format_version": 1', '"format_version": 2', '"format_version" is 2'),
    ],
)
def test_a_mistake_in_an_edited_file_is_told(old, new, message):
    with pytest.raises(InputError, match=re.escape(message)):
        parse_survey(_KNOWN.replace(old, new))


def test_every_participant_has_an_order_of_their_own_that_stays(light_storage, survey):
    orders = set()
    for _ in range(30):
        someone = light_storage.enter(survey, new_token(), "technical", model="k15")
        steps = order_steps(survey, someone)
        assert steps == order_steps(survey, someone)
        shown = {step.id: step.question.keys for step in steps if step.question}
        assert shown["k15/match/1"][-1] == NONE
        assert shown["k15/diagnosis/1"] == ("1", "2", "3")  # in reading order
        orders.add(shown["k15/match/1"])
    assert len(orders) == 6
