"""What is refused in one line before Ray starts."""

from __future__ import annotations

import pytest

pytest.importorskip("ray", reason="needs the extra 'scale'")

from protorynet import ProtoryNetClassifier
from protorynet.errors import InputError, ModelFormatError
from protorynet.inference import encode_with_ray, predict_with_ray, ray_session
from protorynet.ray_training import fit_with_ray


def test_no_sentences_need_no_ray() -> None:
    assert encode_with_ray("no-such-encoder", []).shape == (0, 0)


def test_the_input_is_never_overwritten(model, table) -> None:
    with pytest.raises(InputError, match="holds the input"):
        predict_with_ray(model, [table], table)


@pytest.mark.parametrize("as_address", [True, False])
def test_the_folder_of_the_input_is_never_written_to(model, table, as_address) -> None:
    given, output = (table.as_uri(), table.parent) if as_address else (table, table.parent.as_uri())
    with pytest.raises(InputError, match="holds the input"):
        predict_with_ray(model, [given], output)


def test_a_model_that_is_not_there_is_told_before_ray_starts(table, tmp_path) -> None:
    with pytest.raises(ModelFormatError, match="there is no model directory"):
        predict_with_ray(tmp_path / "model", [table], tmp_path / "out")


@pytest.mark.parametrize("address", ["ray://head:10001", "head", "head:port"])
def test_an_address_of_another_form_is_refused(address) -> None:
    with pytest.raises(InputError, match="is no address of a Ray cluster"), ray_session(address):
        pass


def test_an_address_at_which_nothing_answers_is_refused_quickly() -> None:
    with pytest.raises(InputError, match="nothing answers at"), ray_session("127.0.0.1:1"):
        pass


def test_a_number_of_workers_is_refused_where_none_train_together(
    tiny_bert_folder, reviews
) -> None:
    classifier = ProtoryNetClassifier(tiny_bert_folder)
    with pytest.raises(InputError, match="workers=3 is for encoder_training='full'"):
        fit_with_ray(classifier, reviews.texts, reviews.labels, workers=3)
