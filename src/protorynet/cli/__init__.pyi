from .commands import app as app, main as main
from .documents import load_classifier as load_classifier, read_documents as read_documents
from .options import (
    AsJson as AsJson,
    EncoderElsewhere as EncoderElsewhere,
    LabelColumn as LabelColumn,
    SplitName as SplitName,
    TextColumn as TextColumn,
)
from .output import note as note, print_json as print_json, result_console as result_console
from .places import check_writable as check_writable
