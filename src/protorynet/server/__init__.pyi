from .api_keys import (
    KeyFile as KeyFile,
    public as public,
    require as require,
)
from .api_shapes import ApiError as ApiError, csv_lines as csv_lines
from .app import (
    address_of as address_of,
    create_app as create_app,
    listen as listen,
    serve as serve,
)
from .config import (
    Limits as Limits,
    ServerConfig as ServerConfig,
    model_name as model_name,
    own_table as own_table,
)
from .guard import origin as origin
from .workbench.reading_routes import store_trust as store_trust
