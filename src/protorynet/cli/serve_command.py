"""`protorynet serve` and `keys`: models over HTTP, and who may use them."""

from pathlib import Path
from typing import Literal

import typer

from protorynet.cli.command_inputs import with_options
from protorynet.cli.output import note, print_json, result_console
from protorynet.errors import InputError, MissingExtraError

_NEEDED = ("fastapi", "uvicorn", "prometheus_client", "python_multipart")

keys = typer.Typer(help="Make, list and revoke the API keys of a server.", no_args_is_help=True)


@with_options
def serve(
    models: list[Path] | None = None,
    name: list[str] | None = None,
    host: str = "127.0.0.1",
    port: int = 8000,
    keys_file: Path | None = None,
    insecure: bool = False,
    rate: int = 6_000,
    data: Path | None = None,
    database: str | None = None,
    device: str = "auto",
) -> None:
    """Serve models to programs (REST) and people (pages), on this machine by default.

    The routes are described under /docs. Logs are lines of JSON on standard error, without the
    texts. SIGHUP, or POST /v1/models/NAME/reload, reads a model again without a pause.

    **Example:** `protorynet serve model --port 8080`
    """
    from importlib.util import find_spec

    from protorynet.server import Limits, ServerConfig, own_table

    named = _name_models(models or [], name or [])
    if data is None and len(named) == 1:
        beside = own_table(next(iter(named.values())))
        data = beside if beside.is_file() else None
    config = ServerConfig(
        models=named,
        host=host,
        port=port,
        keys=keys_file,
        insecure=insecure,
        limits=Limits(max_requests_per_minute=rate),
        data=data,
        device=device,
        database=database,
    )
    if data is not None and not data.is_file():
        raise InputError(f"--data {data} is no file. Give a table: CSV, JSONL, Parquet or Excel.")
    for package in _NEEDED:
        if find_spec(package) is None:
            raise MissingExtraError("The server", package, extra="server")
    # Only now: what is imported needs these packages, and takes a while.
    from protorynet.server import KeyFile, serve as run

    if keys_file is not None and not KeyFile(keys_file).keys():
        raise InputError(
            f"{keys_file} holds no keys, so nobody could use the server. Make one with "
            f"`protorynet keys create --scope predict {keys_file}`."
        )
    names = ", ".join(sorted(config.models))
    run(config, announce=lambda url: note(f"serving {names} on {url} (routes: {url}/docs)"))


@keys.command("create")
@with_options
def create_key(
    file: Path, scope: Literal["predict", "edit", "admin"], name: str = "", as_json: bool = False
) -> None:
    """Make a key and print it, once: only its digest is kept in the file.

    **Example:** `protorynet keys create --scope predict --name alice keys.json`
    """
    from protorynet.server import KeyFile

    secret, key = KeyFile(file).create(scope, name=name)
    if as_json:
        print_json({"key": secret, "id": key.id, "scope": key.scope, "name": key.name})
        return
    print(secret)
    note(
        f"This key is not shown again. Send it as 'Authorization: Bearer KEY'. Its id is {key.id}; "
        f"revoke it with: protorynet keys revoke {file} {key.id}"
    )


@keys.command("list")
@with_options
def list_keys(file: Path, as_json: bool = False) -> None:
    """List the keys of a file: ids, names, scopes and when they were made."""
    from rich.table import Table
    from rich.text import Text

    from protorynet.server import KeyFile

    found = KeyFile(_require_file(file)).keys()
    if as_json:
        shown = ("id", "name", "scope", "created")
        print_json({"keys": [{name: getattr(key, name) for name in shown} for key in found]})
        return
    table = Table("id", "name", "scope", "created", box=None)
    for key in found:
        table.add_row(key.id, Text(key.name), key.scope, key.created)
    result_console().print(table)


@keys.command("revoke")
@with_options
def revoke_key(file: Path, key_id: str) -> None:
    """Revoke a key; servers that use the file refuse it from then on."""
    from protorynet.server import KeyFile

    key = KeyFile(_require_file(file)).revoke(key_id)
    note(f"revoked {key.id} ({key.scope}{f', {key.name}' * bool(key.name)})")


def _require_file(file: Path) -> Path:
    if not file.is_file():
        raise InputError(f"{file} is no file of keys. Make one with `protorynet keys create`.")
    return file


def _name_models(folders: list[Path], pairs: list[str]) -> dict[str, Path]:
    """Return the model directories by name; no two may share one."""
    from protorynet.server import model_name

    named: dict[str, Path] = {}
    given = [(model_name(folder), folder) for folder in folders]
    for pair in pairs:
        name, equals, path = pair.partition("=")
        if not (name and equals and path):
            raise InputError(f"--name {pair!r} should be a name and a path, as in hotel=models/7.")
        given.append((name, Path(path)))
    if not given:
        raise InputError("there is no model to serve: give a MODEL directory, or --name NAME=PATH.")
    for name, folder in given:
        if name in named:
            raise InputError(
                f"{named[name]} and {folder} would both be served as {name!r}. Give one another "
                "name with --name NAME=PATH."
            )
        named[name] = folder
    return named
