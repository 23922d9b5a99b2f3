from .chunks import (
    DOCUMENTS as DOCUMENTS,
)
from .chunks import (
    TEXT_BYTES as TEXT_BYTES,
)
from .chunks import (
    Chunk as Chunk,
)
from .documents import (
    document_list as document_list,
)
from .documents import (
    sequence_sentences as sequence_sentences,
)
from .documents import (
    sequence_text as sequence_text,
)
from .inputs import (
    find_files as find_files,
)
from .inputs import (
    open_stream as open_stream,
)
from .quoting import one_line as one_line
from .segmenting import paper_reading as paper_reading
from .sentences import Sentences as Sentences
from .splitting import (
    OnEmpty as OnEmpty,
)
from .splitting import (
    Splitter as Splitter,
)
from .splitting import (
    TokenCounter as TokenCounter,
)
from .splitting import (
    split_documents as split_documents,
)
from .streaming import TableStream as TableStream
from .tables import (
    Label as Label,
)
from .tables import (
    Table as Table,
)
from .tables import (
    read_columns as read_columns,
)
from .tables import (
    read_table as read_table,
)
