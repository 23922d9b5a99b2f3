"""A real cluster of two nodes scores as one process does, also when it loses workers."""

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from scale_scene import rows_in, scored_here, write_reviews

pytest.importorskip("ray", reason="needs the extra 'scale'")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds Ray's processes in /proc"),
]

_ROWS = 6_000
_PATIENCE_SECONDS = 300.0


@dataclass(frozen=True)
class Cluster:
    """Two nodes on this machine, each with one CPU."""

    address: str
    environment: dict[str, str]
    nodes: tuple[subprocess.Popen[bytes], subprocess.Popen[bytes]]

    def predict(self, *arguments: object) -> subprocess.Popen[str]:
        """Start `protorynet predict` on the cluster."""
        command = [
            sys.executable,
            "-c",
            "from protorynet.cli import main; raise SystemExit(main())",
        ]
        given = ["predict", *map(str, arguments), "--engine", "ray", "--address", self.address]
        return subprocess.Popen(
            command + given, env=self.environment, stderr=subprocess.PIPE, text=True
        )

    def workers(self) -> list[int]:
        """Return the processes that score, of this cluster and no other."""
        token = self.environment["RAY_AUTH_TOKEN"].encode()
        found = []
        for folder in Path("/proc").iterdir():
            try:
                is_worker = b"ray::MapWorker(MapBatches(Worker" in (folder / "cmdline").read_bytes()
                if is_worker and token in (folder / "environ").read_bytes():
                    found.append(int(folder.name))
            except (OSError, ValueError):
                continue
        return found


@pytest.fixture
def cluster():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    environment = {
        **os.environ,
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(16),
        "RAY_USAGE_STATS_ENABLED": "0",
        "OMP_NUM_THREADS": "1",
    }
    # Short, because the path of a Unix socket holds about a hundred characters.
    with tempfile.TemporaryDirectory(
        prefix="ray-", dir="/tmp", ignore_cleanup_errors=True
    ) as folder:
        port = address.partition(":")[2]
        as_head = ("--head", f"--port={port}", "--include-dashboard=false", f"--temp-dir={folder}")
        head = _start(environment, *as_head)
        _wait_for(lambda: _answers(address), "the head of the cluster", head)
        other = _start(environment, f"--address={address}")
        try:
            _wait_for(lambda: _n_nodes(address, environment) == 2, "the second node", other)
            yield Cluster(address, environment, (head, other))
        finally:
            for node in (other, head):
                _stop(node)


@pytest.fixture(scope="module")
def reviews_file(tmp_path_factory):
    return write_reviews(tmp_path_factory.mktemp("cluster") / "reviews.parquet", range(_ROWS))


@pytest.mark.parametrize("lost", ["nothing", "a worker", "a node"])
def test_two_nodes_score_as_one_process_whatever_is_lost(
    cluster, hotel, reviews_file, tmp_path, lost
):
    run = cluster.predict(hotel, reviews_file, "-o", tmp_path / "out", "--skip-empty")
    if lost != "nothing":
        _wait_for(lambda: _n_parts(tmp_path) > 0, "the first part", run)
        if lost == "a worker":
            os.kill(cluster.workers()[0], signal.SIGKILL)
        else:
            os.killpg(cluster.nodes[1].pid, signal.SIGKILL)
        assert _n_parts(tmp_path) < 8, f"all was done before {lost} was lost"
    _, errors = run.communicate(timeout=_PATIENCE_SECONDS)
    assert run.returncode == 0, errors
    assert rows_in(tmp_path / "out") == scored_here(hotel, [reviews_file])


def test_a_command_interrupted_leaves_no_worker_and_resumes(cluster, hotel, reviews_file, tmp_path):
    arguments = (hotel, reviews_file, "-o", tmp_path / "out", "--skip-empty")
    run = cluster.predict(*arguments)
    _wait_for(lambda: _n_parts(tmp_path) > 0, "the first part", run)
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=_PATIENCE_SECONDS)
    assert run.returncode != 0
    assert not (tmp_path / "out").exists()
    _wait_for(lambda: not cluster.workers(), "the workers' end")
    first = min(tmp_path.glob(".out.parts/part-*"))
    written = first.stat().st_mtime_ns
    again = cluster.predict(*arguments, "--resume")
    _, errors = again.communicate(timeout=_PATIENCE_SECONDS)
    assert again.returncode == 0, errors
    assert (tmp_path / "out" / first.name).stat().st_mtime_ns == written
    assert rows_in(tmp_path / "out") == scored_here(hotel, [reviews_file])


def _start(environment: dict[str, str], *options: str) -> subprocess.Popen[bytes]:
    command = [
        str(Path(sys.executable).with_name("ray")),
        "start",
        "--num-cpus=1",
        "--object-store-memory=80000000",
        "--disable-usage-stats",
        "--block",
        *options,
    ]
    return subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _stop(node: subprocess.Popen[bytes]) -> None:
    node.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        node.wait(timeout=20)
    # Its own group, so that nothing of it is left.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(node.pid, signal.SIGKILL)
    node.wait()


def _n_parts(folder: Path) -> int:
    return len(list(folder.glob(".out.parts/part-*.parquet")))


def _answers(address: str) -> bool:
    host, _, port = address.partition(":")
    try:
        socket.create_connection((host, int(port)), 1).close()
    except OSError:
        return False
    return True


def _n_nodes(address: str, environment: dict[str, str]) -> int:
    code = (
        "import ray, sys; ray.init(address=sys.argv[1], logging_level='ERROR'); "
        "print(sum(node['Alive'] for node in ray.nodes()))"
    )
    asked = subprocess.run(
        [sys.executable, "-c", code, address], env=environment, capture_output=True, text=True
    )
    return int(asked.stdout.split()[-1]) if asked.returncode == 0 else 0


def _wait_for(
    is_there: Callable[[], bool], what: str, maker: subprocess.Popen[Any] | None = None
) -> None:
    end = time.monotonic() + _PATIENCE_SECONDS
    while not is_there():
        assert time.monotonic() < end, f"{what} did not come"
        assert maker is None or maker.poll() is None, f"{what} did not come, for its process ended"
        time.sleep(0.05)
