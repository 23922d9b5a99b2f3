"""A model of real hotel reviews knows texts of another language or subject as unfamiliar."""

from pathlib import Path

import pytest

from protorynet import ProtoryNetClassifier, read_table
from protorynet.report.conventions import warn_unfamiliar

DATA = Path(__file__).parents[3] / "shared" / "data"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not all((DATA / f"{name}.parquet").is_file() for name in ("hotel", "dbpedia")),
        reason="hotel.parquet and dbpedia.parquet are not in ../shared/data",
    ),
]
_GERMAN = """Das Zimmer war sauber und ruhig.
Das Personal war sehr freundlich und hilfsbereit.
Leider war das Frühstück viel zu teuer.
Wir würden jederzeit wieder hierher kommen.
Der Film war langweilig und viel zu lang.
Gestern hat es den ganzen Tag geregnet.
Die Bundesregierung hat ein neues Gesetz beschlossen.
Das Bett war unbequem und die Dusche kalt.
Die Lage ist ausgezeichnet, nur fünf Minuten vom Bahnhof.
Meine Schwester studiert Medizin in Heidelberg.
Bitte schicken Sie mir die Rechnung per Post.
Der Zug nach München hat zwanzig Minuten Verspätung."""


def texts_of(name: str, split: str, count: int) -> tuple[list[str], list[str]]:
    table = read_table(DATA / f"{name}.parquet", text="text", label="label", split=split)
    step = len(table.texts) // count
    return list(table.texts[::step]), list(table.labels[::step])


def test_another_language_or_subject_is_unfamiliar_and_held_out_reviews_are_not():
    clf = ProtoryNetClassifier(device="cpu", random_state=0).fit(*texts_of("hotel", "train", 300))
    shares = {
        name: clf.read(texts).unfamiliar.mean()
        for name, texts in {
            "reviews": texts_of("hotel", "test", 60)[0],
            "German": _GERMAN.split("\n"),
            "encyclopaedia": texts_of("dbpedia", "test", 60)[0],
            "short": ["It was great.", "I loved it.", "Never again!", "Terrible service."],
        }.items()
    }
    assert shares["reviews"] < 0.06, shares
    assert shares["German"] > 0.7, shares
    assert shares["encyclopaedia"] > 0.6, shares
    assert shares["short"] == 0, shares
    assert warn_unfamiliar(clf.explain(_GERMAN))
