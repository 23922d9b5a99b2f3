from .app import create_app as create_app
from .config import (
    Limits as Limits,
    ServerConfig as ServerConfig,
    model_name as model_name,
)
from .failures import ApiError as ApiError
from .keyfile import (
    KeyFile as KeyFile,
    checked_scope as checked_scope,
)
from .keys import (
    public as public,
    require as require,
)
from .listening import (
    address_of as address_of,
    listen as listen,
)
from .logs import origin as origin
from .running import serve as serve
from .spreadsheet import csv_lines as csv_lines
