from .document_streams import (
    DOCUMENTS as DOCUMENTS,
    TEXT_BYTES as TEXT_BYTES,
    Chunk as Chunk,
    TableStream as TableStream,
    open_stream as open_stream,
)
from .document_tables import (
    Label as Label,
    Table as Table,
    read_columns as read_columns,
    read_table as read_table,
)
from .json_lines import is_text as is_text
from .splitting import (
    LANGUAGES as LANGUAGES,
    OnEmpty as OnEmpty,
    Rule as Rule,
    Sentences as Sentences,
    Splitter as Splitter,
    TokenCounter as TokenCounter,
    check_texts as check_texts,
    document_list as document_list,
    join_sentences as join_sentences,
    paper_reading as paper_reading,
    sequence_sentences as sequence_sentences,
    sequence_text as sequence_text,
    split_documents as split_documents,
)
from .table_batches import load_openpyxl as load_openpyxl, open_table as open_table
from .table_files import find_files as find_files, one_line as one_line
