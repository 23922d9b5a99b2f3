"""What is known of the eight data sets of the paper."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any

from protorynet.errors import InputError

__all__ = ["DATASETS", "KnownDataset", "known_dataset"]


@dataclass(frozen=True, kw_only=True)
class KnownDataset:
    """A data set of the paper.

    Parameters
    ----------
    name, title
        Its name in commands and file names, and what people call it.
    document, label
        What one document is, and what its label says.
    n_classes
        How many classes there are.
    used
        How many documents the paper says it used; empty where it does not say.
    size
        How many documents there are, and how many of them the paper used.
    licence
        Under what terms it may be used, as far as its publisher says.
    home
        Where it is published.
    files
        What `prepare` reads, by the names under which it is published.
    hub
        Its name on the Hugging Face hub; None where the hub has no faithful copy.
    preparation
        What the paper did with it, and `prepare` does.
    differences
        What of the paper's data cannot be had exactly.
    """

    name: str
    title: str
    document: str
    label: str
    n_classes: int
    used: str
    size: str
    licence: str
    home: str
    files: tuple[str, ...]
    hub: str | None
    preparation: str
    differences: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as `protorynet datasets --json` prints them."""
        return {**vars(self), "files": list(self.files)}


_POLARITY = "1 for a positive and 0 for a negative opinion"
_OWN_SPLIT = "The paper does not tell its split; 80% are for training and 20% for the test."

DATASETS = (
    KnownDataset(
        name="imdb",
        title="IMDB movie reviews",
        document="a review of a film, at most 30 of the same film",
        label=f"{_POLARITY} (at least 7, or at most 4, of 10 stars)",
        n_classes=2,
        used="50,000",
        size="25,000 training and 25,000 test reviews, half of them positive; the paper used all",
        licence="free for research; cite Maas et al. (2011)",
        home="https://ai.stanford.edu/~amaas/data/sentiment/",
        files=("aclImdb_v1.tar.gz", "the folder aclImdb unpacked from it"),
        hub="stanfordnlp/imdb",
        preparation="The published halves are the training and the test documents. Of the training "
        "documents 10% are held out for validation, which `protorynet fit` does by itself.",
        differences="Nothing: data and split are those of the paper. Some texts stand in both "
        "halves, as published.",
    ),
    KnownDataset(
        name="amazon",
        title="Amazon product reviews",
        document="the text of a product review, without its title",
        label=f"{_POLARITY} (4 or 5, or 1 or 2, of 5 stars)",
        n_classes=2,
        used="30,000",
        size="3,600,000 training and 400,000 test reviews, half of them positive; the paper used "
        "30,000",
        licence="none is stated; cite Zhang et al. (2015) and McAuley and Leskovec (2013)",
        home="http://goo.gl/JyCnZq (the collection of Zhang et al.)",
        files=("amazon_review_polarity_csv.tar.gz", "a folder with its train.csv and test.csv"),
        hub="fancyzhx/amazon_polarity",
        preparation="30,000 reviews are drawn at random, 24,000 for training and validation and "
        "6,000 for the test.",
        differences="Which reviews the paper drew is not published, nor whether their titles were "
        "used. Half of those drawn here are positive.",
    ),
    KnownDataset(
        name="yelp",
        title="Yelp reviews",
        document="a review of a restaurant or another business",
        label=f"{_POLARITY} (stars 1 and 2 are negative)",
        n_classes=2,
        used="580,000",
        size="560,000 training and 38,000 test reviews, half of them positive; the paper says it "
        "used 550,000 and 30,000",
        licence="Yelp's dataset terms: academic, non-commercial use; cite Zhang et al. (2015)",
        home="http://goo.gl/JyCnZq (the collection of Zhang et al.); https://www.yelp.com/dataset",
        files=(
            "yelp_review_polarity_csv.tar.gz",
            "a folder with its train.csv and test.csv",
            "yelp_academic_dataset_review.json, or Yelp's archive that holds it",
        ),
        hub="fancyzhx/yelp_polarity",
        preparation="The published split is kept, and 10% of the training documents are held out "
        "for validation. From Yelp's own JSON, 4 and 5 stars are positive, 1 and 2 negative and 3 "
        "left out; as many of both are taken, 299,000 at most, and 38 of 598 are for the test.",
        differences="The paper counts 580,000 reviews, the published archive has 598,000. Its "
        "authors, and so the paper, speak of 3 and 4 stars as positive. Yelp's own JSON has other "
        "reviews than the archive and no split.",
    ),
    KnownDataset(
        name="rotten_tomatoes",
        title="Rotten Tomatoes",
        document="one or two sentences quoted from a critic's review of a film",
        label="1 for fresh and 0 for rotten",
        n_classes=2,
        used="480,000",
        size="480,000 reviews, half of them fresh; the paper used all",
        licence="none is stated; the quotations belong to their authors",
        home="https://github.com/nicolas-gervais/rotten-tomatoes-dataset",
        files=(
            "rotten_tomatoes_reviews.csv (columns Freshness and Review)",
            "rotten_tomatoes_critic_reviews.csv (columns review_type and review_content)",
        ),
        hub=None,
        preparation="A random 80% are for training, of which 10% are held out for validation, and "
        "20% for the test.",
        differences="The paper's split is not published. The hub's 'rotten_tomatoes' is another "
        "set, of 10,662 sentences; rotten_tomatoes_critic_reviews.csv is another collection of "
        "the same kind.",
    ),
    KnownDataset(
        name="hotel",
        title="Hotel reviews",
        document="a guest's review of a hotel, without its title",
        label=f"{_POLARITY} (4 or 5, or 1 or 2, of 5 stars)",
        n_classes=2,
        used="4,508",
        size="20,000 reviews of 1,000 hotels; the paper used 4,508, half of them positive",
        licence="CC BY-NC-SA 4.0 according to its page; check it there",
        home="https://www.kaggle.com/datafiniti/hotel-reviews",
        files=(
            "Kaggle's zip file or a folder, of which Datafiniti_Hotel_Reviews*.csv are read",
            "any one of its CSV files (columns reviews.text and reviews.rating)",
        ),
        hub=None,
        preparation="Reviews of 3 stars are left out; of the positive ones, as many are drawn as "
        f"there are negative. {_OWN_SPLIT}",
        differences="Which positive reviews the paper drew follows only from its authors' own "
        "files, which hold 3,606 training and 902 test documents.",
    ),
    KnownDataset(
        name="steam",
        title="Steam reviews",
        document="a player's review of one of the games that sold best in February 2019",
        label="1 for recommended and 0 for not recommended",
        n_classes=2,
        used="130,000",
        size="several hundred thousand reviews; the paper used 130,000, half of them positive",
        licence="none is stated; check its page",
        home="https://www.kaggle.com/luthfim/steam-reviews-dataset",
        files=("steam_reviews.csv (columns review and recommendation), or Kaggle's zip file",),
        hub=None,
        preparation="Reviews of fewer than 10 characters or 2 sentences are left out; 65,000 of "
        f"each kind are drawn. {_OWN_SPLIT}",
        differences="Which reviews the paper drew, and its split, are not published. The reviews "
        "are in many languages.",
    ),
    KnownDataset(
        name="dbpedia",
        title="DBPedia",
        document="the first sentences of an article of Wikipedia",
        label="what it is about: 'Person', 'Animal', 'Building' or 'NaturalPlace'",
        n_classes=4,
        used="",
        size="about 337,000 articles of 70 kinds, of which the paper used four kinds",
        licence="CC BY-SA 3.0 and GFDL, as Wikipedia; the copy on the hub says CC0",
        home="https://www.kaggle.com/danofer/dbpedia-classes",
        files=(
            "DBPEDIA_train.csv, DBPEDIA_val.csv and DBPEDIA_test.csv (columns text and l2) in a "
            "folder or Kaggle's zip file",
            "dbpedia_csv.tar.gz (the collection of Zhang et al.)",
        ),
        hub="DeveloperOats/DBPedia_Classes",
        preparation="Four kinds are taken (column l2), all articles of them; the published "
        "validation documents join the training documents.",
        differences="The paper names DBPedia's own page, not a file, and tells neither size nor "
        "split. dbpedia_csv.tar.gz has no Person; its artists, athletes and holders of office "
        "stand for it.",
    ),
    KnownDataset(
        name="complaints",
        title="Consumer complaints",
        document="a consumer's complaint to the Consumer Financial Protection Bureau of the USA",
        label="the product: 'Checking or savings account', 'Credit card or prepaid card', "
        "'Debt collection' or 'Mortgage'",
        n_classes=4,
        used="",
        size="millions of complaints, growing daily, those with a narrative only being read; the "
        "paper does not say how many it used",
        licence="public domain (a work of the government of the USA)",
        home="https://www.consumerfinance.gov/data-research/consumer-complaints/",
        files=(
            "complaints.csv or complaints.csv.zip (columns Product and Consumer complaint "
            "narrative)",
            "the CSV of https://www.kaggle.com/datasets/dushyantv/consumer_complaints",
        ),
        hub=None,
        preparation=f"Complaints about four products are taken, by their exact names. {_OWN_SPLIT}",
        differences="The paper used a copy of its day; products were named otherwise before 2017 "
        "and since 2023, so the Bureau's file of today holds other complaints.",
    ),
)


def known_dataset(name: str) -> KnownDataset:
    """Return what is known of a data set.

    Examples
    --------
    >>> known_dataset("hotel").title
    'Hotel reviews'
    """
    known = {each.name: each for each in DATASETS}
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name.strip().lower().replace(" ", "_"), known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? Known" if near else "known"
    raise InputError(f"there is no data set {name!r}; {hint} are {', '.join(known)}.")
