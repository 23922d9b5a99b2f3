"""Models on the Hugging Face hub: a repository there is a model directory, and its card."""

import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from protorynet.data import one_line
from protorynet.errors import InputError, ModelFormatError
from protorynet.storage import MODEL_FILES

_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)


class HubMixin:
    """What brings a classifier to the hub, and back."""

    save: Callable[[str | Path], None]
    load: Callable[..., Self]

    def push_to_hub(
        self, repo_id: str, *, private: bool | None = None, token: str | None = None
    ) -> str:
        """Publish the model in a repository of the Hugging Face hub, and return its address.

        Parameters
        ----------
        repo_id
            ``"owner/name"``. It is made where there is none; a model that it holds is replaced.
        private, token
            Whether a new repository is private, by default what your account says; an access
            token, by default the one of ``hf auth login``.
        """
        from huggingface_hub import HfApi

        api = HfApi(token=token)
        with tempfile.TemporaryDirectory() as folder, _hub_errors(repo_id, "published"):
            self.save(Path(folder, "model"))
            where = api.create_repo(_check_name(repo_id), private=private, exist_ok=True)
            api.upload_folder(
                repo_id=repo_id,
                folder_path=Path(folder, "model"),
                commit_message="Add a ProtoryNet model",
                # What an earlier model had more of, such as edits, is no part of this one.
                delete_patterns=list(MODEL_FILES),
            )
        return str(where)

    @classmethod
    def from_pretrained(
        cls, name: str | Path, *, revision: str | None = None, token: str | None = None, **how: Any
    ) -> Self:
        """Read a model from the Hugging Face hub, by ``"owner/name"``, or from a directory.

        Parameters
        ----------
        name
            A directory that exists, or the name of a repository, which is fetched.
        revision, token
            A branch, tag or commit; an access token for a private repository.
        **how
            As for `load`.
        """
        if Path(name).is_dir():
            return cls.load(name, **how)
        from huggingface_hub import snapshot_download

        repo_id = _check_name(str(name))
        print(f"Fetching the model {repo_id!r} from Hugging Face, as named…", file=sys.stderr)
        what: dict[str, Any] = {"revision": revision, "allow_patterns": list(MODEL_FILES)}
        with _hub_errors(repo_id, "fetched"):
            folder = snapshot_download(repo_id, token=token, **what)
        return cls.load(folder, **how)


def _check_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{name!r} is neither a model directory that exists nor a name such as 'owner/model'."
        )
    return name


@contextmanager
def _hub_errors(name: str, what: str) -> Iterator[None]:
    """Say in a line what went wrong with a repository."""
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        yield
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise ModelFormatError(
            f"the model {name!r} cannot be {what} ({one_line(error)}). Check the name, the "
            "connection, and your access token (`hf auth login`, or token=…)."
        ) from None
