"""The audit finds what is wrong with real hotel reviews, without being told."""

from pathlib import Path

import pytest
from audit_scene import found, only

from protorynet import ProtoryNetClassifier, read_table
from protorynet.audit import audit_model
from protorynet.cli.command_inputs import labelled_documents

TABLE = Path(__file__).parents[3] / "shared" / "data" / "hotel.parquet"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not TABLE.is_file(), reason=f"{TABLE.name} is not in ../shared/data"),
]


@pytest.fixture(scope="module")
def hotel():
    train, test = (
        read_table(TABLE, text="text", label="label", split=split) for split in ("train", "test")
    )
    clf = ProtoryNetClassifier(device="cpu", random_state=0).fit(train.texts, train.labels)
    return audit_model(clf.model_, *(labelled_documents(clf, table) for table in (train, test)))


def test_the_known_faults_are_found_and_no_others_made_up(hotel):
    finding = only(hotel, "artefact_sentence")
    assert (finding.evidence["sentence"], finding.severity) == ("More", "serious")
    finding = only(hotel, "shared_texts")
    assert (finding.evidence["n_test_documents"], finding.severity) == (16, "serious")
    examples = only(hotel, "boilerplate_prototypes").evidence["examples"]
    copied = " ".join(text for example in examples for text in example["repeated"])
    assert "We are looking forward to welcome you" in copied
    assert "satisfaction is important to us" in copied
    examples = only(hotel, "artefact_members").evidence["examples"]
    assert "More" in examples[0]["repeated"][0]
    evidence = only(hotel, "copied_passages").evidence
    assert 300 < evidence["n_documents"] < 500
    assert any("feedback" in example["text"] for example in evidence["examples"])
    for kind in ("fixed_sentence", "other_preparation", "unclean_texts"):
        assert found(hotel, kind) == []
