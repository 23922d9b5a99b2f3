"""The steps of the Dockerfile, taken here: Docker itself is not needed."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from server_scene import wait_until

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
STEPS = [line.split(maxsplit=1) for line in DOCKERFILE.replace("\\\n", " ").splitlines() if line]
LAST = STEPS[max(n for n, step in enumerate(STEPS) if step[0] == "FROM") :]


def here(commands: str, image: Path) -> list[str]:
    """Return commands of the image as one, with the paths that its parts have here."""
    words = [word for each in re.findall(r"\[.*?\]", commands) for word in json.loads(each)]
    moved = {"/usr/local/lib/protorynet": str(ROOT / "deploy"), "/srv": str(image / "srv")}
    for inside, outside in moved.items():
        words = [word.replace(inside, outside) for word in words]
    return [sys.executable if word == "python" else word for word in words]


def test_the_image_runs_as_a_user_without_rights_of_what_is_there():
    words = [word for word, _ in LAST]
    assert dict(LAST)["USER"] not in ("root", "0")
    assert max(n for n, word in enumerate(words) if word == "RUN") < words.index("USER")
    sent = (ROOT / ".dockerignore").read_text().splitlines()
    for word, rest in STEPS:
        if word == "COPY" and "--from" not in rest:
            for source in rest.split()[:-1]:
                assert (ROOT / source).exists()
                assert f"!{source.split('/')[0]}" in sent


@pytest.fixture
def image(hotel, tmp_path):
    """A folder with what the last stage copies of a demo, which the build leaves in its folder."""
    build, image = tmp_path / "build", tmp_path / "image"
    folder = build / re.search(r"protorynet demo -o /(\S+)", DOCKERFILE)[1]
    shutil.copytree(hotel, folder / "model")
    (folder / "model.workbench").mkdir()
    (folder / "model.workbench" / "texts.csv").write_text("text,label\nThe room was clean.,good\n")
    for source, target in re.findall(r"COPY --from=build /(srv\S*) /(\S+)", DOCKERFILE):
        shutil.copytree(build / source, image / target)
    return image


@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
def test_the_container_serves_the_demo_with_its_texts_to_the_key_it_printed(image, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    bin_folder = str(Path(sys.executable).parent)
    path = os.pathsep.join([bin_folder, os.environ["PATH"]])
    assert shutil.which("protorynet", path=path), "the package is not installed"
    env = {**os.environ, "PATH": path, "PORT": port, "PROTORYNET_KEYS": str(tmp_path / "k.json")}
    steps = dict(LAST)
    start, healthy = (
        here(each, image) for each in (steps["ENTRYPOINT"] + steps["CMD"], steps["HEALTHCHECK"])
    )
    assert subprocess.run(healthy, env=env, capture_output=True, check=False).returncode == 1
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with (
        httpx.Client(base_url=f"http://127.0.0.1:{port}") as client,
        subprocess.Popen(start, env=env, **pipes) as process,
    ):
        try:
            wait_until(lambda: client.get("/readyz").is_success, process)
            assert subprocess.run(healthy, env=env, check=False).returncode == 0
            _, key = (process.stdout.readline().strip() for _ in range(2))
            for given, status in (("another", 401), (key, 200)):
                client.headers["Authorization"] = f"Bearer {given}"
                assert client.get("/v1/models").status_code == status
            assert client.get("/v1/models/model/documents").json()["total"] == 1
        finally:
            process.terminate()
