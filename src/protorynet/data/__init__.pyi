from .document_streams import (
    DOCUMENTS as DOCUMENTS,
)
from .document_streams import (
    TEXT_BYTES as TEXT_BYTES,
)
from .document_streams import (
    Chunk as Chunk,
)
from .document_streams import (
    TableStream as TableStream,
)
from .document_streams import (
    open_stream as open_stream,
)
from .document_tables import (
    Label as Label,
)
from .document_tables import (
    Table as Table,
)
from .document_tables import (
    read_columns as read_columns,
)
from .document_tables import (
    read_table as read_table,
)
from .sentence_spans import (
    TokenCounter as TokenCounter,
)
from .sentence_spans import (
    paper_reading as paper_reading,
)
from .splitting import (
    OnEmpty as OnEmpty,
)
from .splitting import (
    Sentences as Sentences,
)
from .splitting import (
    Splitter as Splitter,
)
from .splitting import (
    document_list as document_list,
)
from .splitting import (
    sequence_sentences as sequence_sentences,
)
from .splitting import (
    sequence_text as sequence_text,
)
from .splitting import (
    split_documents as split_documents,
)
from .table_batches import (
    open_table as open_table,
)
from .table_files import (
    find_files as find_files,
)
from .table_files import (
    one_line as one_line,
)
