"""Reading tables of documents, and splitting documents into sentences."""

from protorynet.text.documents import document_list, sequence_sentences, sequence_text
from protorynet.text.sentences import Sentences
from protorynet.text.splitting import OnEmpty, Splitter, TokenCounter, split_documents
from protorynet.text.tables import Label, Table, read_columns, read_table

__all__ = [
    "Label",
    "OnEmpty",
    "Sentences",
    "Splitter",
    "Table",
    "TokenCounter",
    "document_list",
    "read_columns",
    "read_table",
    "sequence_sentences",
    "sequence_text",
    "split_documents",
]
