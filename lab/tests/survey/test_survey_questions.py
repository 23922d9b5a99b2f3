"""Questions made from real small models: fair, readable, and the same for the same seed."""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter

import pytest
from hypothesis import given, strategies as st
from survey_scene import small_survey

from protorynet import ProtoryNetClassifier
from protorynet.errors import InputError
from protorynet_lab.survey import Counts, Survey, read_survey, survey_of_models, write_survey
from protorynet_lab.survey.orders import assigned_model, steps_for
from protorynet_lab.survey.survey import NONE
from protorynet_lab.survey.survey_file import parse_survey, survey_json

_FEW = Counts(match=6, diagnosis=2, trajectory=3)
SEEDS = range(5)


def plain(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text.casefold()).strip()


@pytest.fixture(scope="module")
def models(reviews, encoder, quick) -> dict[str, ProtoryNetClassifier]:
    """Two models, one of them of another seed."""
    made = {}
    settings = quick.replace(min_prototypes=6)
    for name, seed in (("first", 0), ("second", 3)):
        model = ProtoryNetClassifier(
            encoder, settings=settings, random_state=seed, device="cpu", cache=False
        )
        made[name] = model.fit(reviews.texts, reviews.labels)
    return made


@pytest.fixture(scope="module")
def turned(unseen_reviews) -> list[str]:
    """Labels of which some are wrong, so that the models make mistakes."""
    other = {"good": "bad", "bad": "good"}
    return [
        other[label] if place % 4 == 0 else label
        for place, label in enumerate(unseen_reviews.labels)
    ]


@pytest.fixture(scope="module")
def made(models, unseen_reviews, turned) -> list[Survey]:
    """Surveys of several seeds."""
    texts = unseen_reviews.texts
    return [survey_of_models(models, texts, turned, seed=s, counts=_FEW)[0] for s in SEEDS]


def test_the_same_seed_makes_the_same_survey(made, models, unseen_reviews, turned) -> None:
    again = survey_of_models(models, unseen_reviews.texts, turned, seed=3, counts=_FEW)[0]
    assert again == made[3]


def test_another_seed_makes_another_survey(made) -> None:
    assert len({survey.id for survey in made}) == len(SEEDS)


def test_there_are_as_many_questions_as_asked_for(made) -> None:
    counts = Counter(question.task for question in made[0])
    assert counts == {"match": 12, "diagnosis": 4, "trajectory": 6}


def test_no_two_options_read_alike(made) -> None:
    for survey in made:
        for question in survey:
            shown = [tuple(map(plain, option.lines)) for option in question.options]
            assert question.task == "diagnosis" or len(set(shown)) == len(shown)


def test_a_match_offers_the_models_prototype_two_others_and_none(made, models) -> None:
    for question in (q for survey in made for q in survey if q.task == "match"):
        model = models[question.id.split("/")[0]]
        sentences = {str(item.id): item.sentence for item in model.prototypes_}
        assert question.keys[-1] == NONE
        assert [sentences[key] for key in question.keys[:3]] == [
            option.lines[0] for option in question.options[:3]
        ]


def test_the_expected_prototype_is_the_one_the_model_chooses(made, models, unseen_reviews) -> None:
    for question in (q for q in made[0] if q.task == "match"):
        explained = models[question.id.split("/")[0]].explain(unseen_reviews.texts[question.row])
        step = next(step for step in explained.sentences if step.text == question.lines[0])
        assert question.expected == str(step.prototype)


def test_the_place_of_the_expected_answer_tells_nothing(made) -> None:
    places = Counter(
        question.keys.index(question.expected)
        for survey in made
        for question in survey
        if question.task == "match"
    )
    assert set(places) == {0, 1, 2}


def test_sentences_have_a_readable_length(made) -> None:
    for question in (q for survey in made for q in survey if q.task == "match"):
        assert 15 <= len(question.lines[0]) <= 220


def test_no_sentence_is_asked_about_that_is_its_prototype_word_for_word(made) -> None:
    for question in (q for survey in made for q in survey if q.task == "match"):
        expected = next(option for option in question.options if option.key == question.expected)
        assert plain(expected.lines[0]) != plain(question.lines[0])


def test_models_are_compared_on_the_same_sentences(made) -> None:
    for survey in made:
        first, second = ([q.lines for q in model.of("match")] for model in survey.models)
        assert first == second


def test_counting_does_not_tell_the_right_trajectory(made) -> None:
    for question in (q for survey in made for q in survey if q.task == "trajectory"):
        for step in range(len(question.lines)):
            shown = Counter(option.lines[step] for option in question.options)
            assert sorted(shown.values()) == [2, 2]


def test_the_expected_trajectory_is_the_models(made, models, unseen_reviews) -> None:
    for question in (q for q in made[0] if q.task == "trajectory"):
        explained = models[question.id.split("/")[0]].explain(unseen_reviews.texts[question.row])
        right = next(option for option in question.options if option.key == question.expected)
        assert right.lines == tuple(step.prototype_sentence for step in explained.sentences)


def test_a_diagnosis_is_of_a_wrong_prediction(made, models, unseen_reviews, turned) -> None:
    for question in (q for q in made[0] if q.task == "diagnosis"):
        given = models[question.id.split("/")[0]].predict([unseen_reviews.texts[question.row]])[0]
        assert (question.given, question.truth) == (given, turned[question.row])
        assert question.given != question.truth


def test_the_sentence_to_blame_speaks_for_the_wrong_label(made, models, unseen_reviews) -> None:
    for question in (q for q in made[0] if q.task == "diagnosis"):
        explained = models[question.id.split("/")[0]].explain(unseen_reviews.texts[question.row])
        assert explained.sentences[int(question.expected) - 1].effect > 0


def test_the_lesson_is_none_of_the_questions(made) -> None:
    for survey in made:
        for model in survey.models:
            assert model.lesson is not None
            taught = tuple(sentence for sentence, _ in model.lesson.pairs)
            assert taught not in [question.lines for question in model.questions]


def test_labels_are_called_as_wished(models, unseen_reviews, turned) -> None:
    called = {"good": "praise", "bad": "complaint"}
    survey, _ = survey_of_models(models, unseen_reviews.texts, turned, counts=_FEW, names=called)
    words = {question.given for question in survey if question.given}
    assert words <= {"praise", "complaint"}
    assert words


def test_too_few_mistakes_are_told(models, unseen_reviews) -> None:
    right = models["first"].predict(unseen_reviews.texts).tolist()
    survey, remarks = survey_of_models(
        {"first": models["first"]}, unseen_reviews.texts, right, counts=_FEW
    )
    assert not survey.models[0].of("diagnosis")
    assert remarks == [
        "first: 0 diagnosis questions instead of 2; the data hold too few wrong predictions for "
        "short texts"
    ]


def test_a_document_without_a_sentence_is_left_out(models, unseen_reviews, turned) -> None:
    texts = [" \n ", *unseen_reviews.texts]
    survey, _ = survey_of_models(models, texts, ["good", *turned], counts=_FEW)
    assert all(question.row > 0 for question in survey)


def test_two_prototypes_are_too_few(reviews, encoder, quick) -> None:
    few = quick.replace(n_prototypes=2, max_prototypes=2)
    model = ProtoryNetClassifier(encoder, settings=few, device="cpu", cache=False)
    model.fit(reviews.texts, reviews.labels)
    with pytest.raises(InputError, match="needs 3"):
        survey_of_models({"small": model}, reviews.texts, reviews.labels)


def test_a_survey_comes_back_from_its_file(made, tmp_path) -> None:
    write_survey(made[0], tmp_path / "survey.json")
    assert read_survey(tmp_path / "survey.json") == made[0]


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
_known = json.loads(survey_json(small_survey("one")))


@given(_json)
def test_any_other_json_is_refused_in_one_line(content) -> None:
    with pytest.raises(InputError):
        parse_survey(json.dumps(content))


@given(st.sampled_from(sorted(_known["models"][0]["questions"][2])), _json)
def test_a_damaged_question_is_refused_or_read(key, value) -> None:
    damaged = json.loads(json.dumps(_known))
    damaged["models"][0]["questions"][2][key] = value
    with contextlib.suppress(InputError):
        parse_survey(json.dumps(damaged))


def test_participants_are_spread_evenly_over_the_models(survey) -> None:
    for kind in ("technical", "non-technical"):
        counted = Counter(assigned_model(survey, kind, number) for number in range(20))
        assert counted == {"k15": 10, "k100": 10}


def test_the_order_of_assignment_cannot_be_guessed(survey) -> None:
    first = {assigned_model(survey, "technical", number) for number in range(0, 20, 2)}
    assert first == {"k15", "k100"}


def test_options_are_shuffled_for_every_participant_but_none_stays_last(survey) -> None:
    orders = set()
    for number in range(30):
        steps = steps_for(survey, "k15", "technical", number)
        match = next(step.question for step in steps if step.id == "k15/match/1")
        assert match is not None
        assert match.keys[-1] == NONE
        orders.add(match.keys)
    assert len(orders) == 6


def test_a_participant_always_sees_the_same_order(survey) -> None:
    assert steps_for(survey, "k15", "technical", 4) == steps_for(survey, "k15", "technical", 4)


def test_sentences_of_a_diagnosis_stay_in_reading_order(survey) -> None:
    for number in range(10):
        steps = steps_for(survey, "k15", "technical", number)
        shown = next(step.question for step in steps if step.id == "k15/diagnosis/1")
        assert shown is not None
        assert shown.keys == ("1", "2", "3")
