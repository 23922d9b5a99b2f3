"""Reading tables of documents, and splitting documents into sentences."""

from protorynet.text.sentences import Sentences
from protorynet.text.splitting import Splitter, TokenCounter, split_documents
from protorynet.text.tables import Label, Table, read_table

__all__ = [
    "Label",
    "Sentences",
    "Splitter",
    "Table",
    "TokenCounter",
    "read_table",
    "split_documents",
]
