"""What is refused in one line before Ray starts."""

import pytest

pytest.importorskip("ray", reason="needs the extra 'scale'")

from protorynet import ProtoryNetClassifier
from protorynet.errors import EmptyDocumentError, InputError, ModelFormatError
from protorynet.inference import predict_with_ray, ray_session
from protorynet.ray_training import fit_with_ray


def test_the_input_is_never_overwritten(hotel, table):
    for given, output in (
        (table, table),
        (table.as_uri(), table.parent),
        (table, table.parent.as_uri()),
    ):
        with pytest.raises(InputError, match="holds the input"):
            predict_with_ray(hotel, [given], output)


def test_a_model_that_is_not_there_is_refused(table, tmp_path):
    with pytest.raises(ModelFormatError, match="there is no model directory"):
        predict_with_ray(tmp_path / "model", [table], tmp_path / "out")


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("ray://head:10001", "is no address of a Ray cluster"),
        ("head", "is no address of a Ray cluster"),
        ("head:port", "is no address of a Ray cluster"),
        ("127.0.0.1:1", "nothing answers at"),
    ],
)
def test_an_address_without_a_cluster_is_refused(address, message):
    with pytest.raises(InputError, match=message), ray_session(address):
        pass


def test_workers_are_refused_where_none_train_together(tiny_bert_folder, reviews):
    classifier = ProtoryNetClassifier(tiny_bert_folder)
    with pytest.raises(InputError, match="workers=3 is for encoder_training='full'"):
        fit_with_ray(classifier, reviews.texts, reviews.labels, workers=3)


def test_empty_documents_and_encoders_without_a_name_are_refused(
    tiny_bert_folder, reviews, encoder
):
    with pytest.raises(EmptyDocumentError) as caught:
        fit_with_ray(ProtoryNetClassifier(tiny_bert_folder), ["Good.", " "], ["a", "b"])
    assert caught.value.rows == [1]
    with pytest.raises(InputError, match="with a name or a folder"):
        fit_with_ray(ProtoryNetClassifier(encoder), reviews.texts, reviews.labels)
