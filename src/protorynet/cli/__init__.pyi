from .command_inputs import (
    AsJson as AsJson,
    EncoderElsewhere as EncoderElsewhere,
    LabelColumn as LabelColumn,
    SplitName as SplitName,
    TextColumn as TextColumn,
    load_classifier as load_classifier,
    parse_names as parse_names,
    read_documents as read_documents,
)
from .commands import app as app, main as main
from .output import (
    check_writable as check_writable,
    note as note,
    print_json as print_json,
    result_console as result_console,
)
