"""What the tests of surveys share: a small survey, a server of its own, a private PostgreSQL."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from protorynet_lab.survey import NONE, Lesson, ModelQuestions, Option, Question, Survey

EVIL = "<script>document.title = 'run'</script><img src=x onerror=\"document.title='run'\"> & so on"


def small_survey(*names: str, seed: int = 0) -> Survey:
    """Return a survey of two matches, a diagnosis and a trajectory about each model."""
    return Survey("Hotels & more", seed, tuple(_model(name) for name in names)).with_id()


def _model(name: str) -> ModelQuestions:
    bed, rain, far = "I liked my bed.", "It rains.", "Far from town."
    stayed, not_bad = "We stayed.", "No, it was not bad."
    matches = [
        ("The bed was lovely.", {"7": bed, "8": rain, "9": EVIL}, "7"),
        (EVIL, {"7": bed, "8": rain, "3": far}, "8"),
    ]
    pairs = {"1": (stayed, "They stayed."), "2": (not_bad, "It was bad."), "3": (EVIL, EVIL)}
    lists = {"a": (stayed, rain), "b": (stayed, far), "c": (bed, rain), "d": (bed, far)}
    questions = [
        Question(
            f"{name}/match/{number}",
            "match",
            (line,),
            (*(Option(key, (text,)) for key, text in options.items()), Option(NONE, ())),
            expected,
            number,
        )
        for number, (line, options, expected) in enumerate(matches, 1)
    ]
    options = tuple(Option(key, lines) for key, lines in pairs.items())
    lines = (stayed, not_bad, EVIL)
    diagnosis = Question(f"{name}/diagnosis/1", "diagnosis", lines, options, "2", 2, "bad", "good")
    options = tuple(Option(key, lines) for key, lines in lists.items())
    trajectory = Question(f"{name}/trajectory/1", "trajectory", (stayed, EVIL), options, "b", 3)
    lesson = Lesson((("A.", "B."), (EVIL, "C.")), "good")
    return ModelQuestions(name, "hashing", 5, (*questions, diagnosis, trajectory), lesson)


class Process:
    """What ``protorynet survey serve`` does in a process of its own, which can be killed."""

    _CODE = (
        "import sys; from protorynet_lab.cli.survey_command import survey; "
        "survey(['serve', *sys.argv[1:]], standalone_mode=False)"
    )

    def __init__(self, *arguments: str, port: int | None = None) -> None:
        self.port = port or free_port()
        self.process = subprocess.Popen(
            [sys.executable, "-c", self._CODE, *arguments, "--port", str(self.port)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.link = self.process.stdout.readline().removeprefix("Invitation link: ").strip()
        self.own_link = f"http://127.0.0.1:{self.port}{httpx.URL(self.link).path}"
        try:
            assert httpx.get(self.own_link, timeout=30).status_code == 200
        except BaseException:
            self.end(signal.SIGKILL)
            raise

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Signal the process, wait for its end, and return its exit code."""
        self.process.send_signal(how)
        _, self.errors = self.process.communicate(timeout=30)
        return self.process.returncode


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def read_form(page: httpx.Response) -> tuple[str, dict[str, list[str]]]:
    """Return the address and the fields of a page's form, as a browser without scripts would."""
    action = re.search(r'<form method="post" action="([^"]*)"', page.text)
    assert action is not None, page.text
    values: dict[str, list[str]] = {}
    for name, value in re.findall(r'<input [^>]*name="([^"]*)" value="([^"]*)"', page.text):
        values.setdefault(name, []).append(value)
    return action[1], values


def begin(client: httpx.Client, link: str, technical: str = "yes") -> httpx.Response:
    """Open the invitation, start, and return the first page."""
    action, values = read_form(client.get(link))
    return client.post(action, data={"own": values["own"][0], "technical": technical})


def answer(client: httpx.Client, page: httpx.Response) -> httpx.Response:
    """Choose the first of everything, and return the next page."""
    action, values = read_form(page)
    return client.post(action, data={name: offered[0] for name, offered in values.items()})


def take(client: httpx.Client, link: str, technical: str = "yes") -> list[httpx.Response]:
    """Take the survey from start to end, and return all pages."""
    pages = [begin(client, link, technical)]
    while "<form" in pages[-1].text:
        pages.append(answer(client, pages[-1]))
    return pages


class Cluster:
    """A PostgreSQL of the tests' own, in a folder, run by a user without rights."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.made = 0
        self._user: dict[str, Any] = {}
        if os.getuid() == 0:  # which the database refuses to be run by
            shutil.chown(folder, "postgres", "postgres")
            self._user = {"user": "postgres", "group": "postgres", "extra_groups": []}
        data = folder / "data"
        self._run("initdb", "-D", data, "-A", "trust", "-U", "tests", "-E", "UTF8", "--no-sync")
        options = f"-p {self.port} -k {folder} -c listen_addresses=127.0.0.1"
        self._run("pg_ctl", "-D", data, "-o", options, "-l", folder / "log", "-w", "start")

    def database(self) -> str:
        """Make an empty database, and return its URL."""
        self.made += 1
        name = f"survey{self.made}"
        self._run("createdb", "-h", self.folder, "-p", self.port, "-U", "tests", name)
        return f"postgresql://tests@127.0.0.1:{self.port}/{name}"

    def stop(self) -> None:
        self._run("pg_ctl", "-D", self.folder / "data", "-m", "immediate", "-w", "stop")

    def _run(self, command: str, *arguments: object) -> None:
        words = [str(_find_program(command)), *map(str, arguments)]
        # Not a pipe, which the server would keep open.
        with (self.folder / "out").open("wb") as out:
            ended = subprocess.run(
                words,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                timeout=120,
                check=False,
                **self._user,
            )
        assert ended.returncode == 0, (self.folder / "out").read_text()


def _find_program(name: str) -> Path | None:
    """Find a program of PostgreSQL, also where Debian puts those that are not for everybody."""
    if found := shutil.which(name):
        return Path(found)
    return max(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), default=None)


def require_postgres() -> None:
    """Skip a test where there is no PostgreSQL, unless there must be one."""
    if _find_program("initdb") is None:
        assert os.environ.get("PROTORYNET_REQUIRE_POSTGRES") != "1", "PostgreSQL is not installed"
        pytest.skip("needs PostgreSQL, which is not installed")
