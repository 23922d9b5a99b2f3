from .chunks import (
    DOCUMENTS as DOCUMENTS,
    TEXT_BYTES as TEXT_BYTES,
    Chunk as Chunk,
)
from .documents import (
    document_list as document_list,
    sequence_sentences as sequence_sentences,
    sequence_text as sequence_text,
)
from .inputs import (
    find_files as find_files,
    open_stream as open_stream,
)
from .quoting import one_line as one_line
from .segmenting import paper_reading as paper_reading
from .sentences import Sentences as Sentences
from .splitting import (
    OnEmpty as OnEmpty,
    Splitter as Splitter,
    TokenCounter as TokenCounter,
    split_documents as split_documents,
)
from .streaming import TableStream as TableStream
from .tables import (
    Label as Label,
    Table as Table,
    read_columns as read_columns,
    read_table as read_table,
)
