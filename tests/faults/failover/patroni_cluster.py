"""Three PostgreSQL servers on loopback that fail over by themselves, with Patroni and etcd."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self
from urllib.error import URLError
from urllib.request import Request, urlopen

import yaml
from tests.postgres import PASSWORD, free_port, tcp_url, unprivileged, wheel_programs

HERE = "127.0.0.1"
NODES = 3
TTL_S, LOOP_S, RETRY_S = 20, 1, 3
"""How long the leader's key lives without being renewed: the shortest that Patroni takes."""
START_TIMEOUT_S = 180
WRITES = "target_session_attrs=read-write"
USER = unprivileged(wheel_programs())
"""Whom servers run as."""


def program(name: str) -> str:
    """A program beside this Python, or of the machine, that the servers' user can run."""
    beside, of_machine = str(Path(sys.executable).parent), os.environ["PATH"]
    for path in (beside, of_machine):
        found = shutil.which(name, path=path)
        if found is not None and _runs(found):
            return found
    raise AssertionError(f"{name} is not installed where {USER or 'this user'} can run it: see scripts/test")


def _runs(command: str) -> bool:
    try:
        done = subprocess.run([command, "--version"], user=USER, capture_output=True, cwd="/", check=False)
    except OSError:  # Where Python lies in a folder of root's own, nobody else can run it.
        return False
    return done.returncode == 0


class PatroniCluster:
    """Started as a whole, all in one temporary folder; everything is ended with the block."""

    def __init__(self, *, synchronous: bool) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="cadenza-patroni-"))
        self.folder.chmod(0o755)
        self._synchronous = synchronous
        if USER is not None:
            shutil.chown(self.folder, USER)
        self.ports = [free_port() for _ in range(NODES)]
        self._rest_ports = [free_port() for _ in range(NODES)]
        self._etcd_ports = free_port(), free_port()
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def url(self) -> str:
        return f"{tcp_url(*self.ports)}?{WRITES}"

    def __enter__(self) -> Self:
        try:
            self._start_etcd()
            for node in range(NODES):
                self.start_node(node)
            self.until_complete()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for name in sorted(self._processes, reverse=True):
            self._kill(self._processes[name])
        for node in range(NODES):
            self._kill_postgres(node)
        shutil.rmtree(self.folder, ignore_errors=True)

    def until_complete(self) -> None:
        """Return when one leads and the others follow, one of them synchronously if that is asked for."""
        roles = (
            ["leader", "replica", "sync_standby"] if self._synchronous else ["leader", "replica", "replica"]
        )
        self._until(lambda: sorted(self.roles()) == roles, f"the cluster is not complete: {roles}")

    def roles(self) -> list[str]:
        """The roles of the members that work."""
        members = self._ask(self._rest_ports, "cluster").get("members", ())
        return [one["role"] for one in members if one["state"] in ("running", "streaming")]

    def leader(self) -> int:
        """The node that takes changes."""
        for node, port in enumerate(self._rest_ports):
            if self._ask([port], "primary").get("role") in ("primary", "master"):
                return node
        raise AssertionError("no node leads")

    def fail_over(self, *, whole_node: bool = True) -> float:
        """Kill the leader's server, with its Patroni or alone; seconds until another one takes changes."""
        node, began = self.leader(), time.monotonic()
        if whole_node:
            self._processes[f"node{node}"].kill()
        self._kill_postgres(node)
        return self._until_led_by_another(node, began)

    def switch_over(self) -> float:
        """Hand the leader's role to another node; seconds until it takes changes."""
        node, began = self.leader(), time.monotonic()
        port, wanted = self._rest_ports[node], {"leader": f"node{node}"}
        self._until(lambda: self._ask([port], "switchover", wanted) != {}, "the switchover was refused")
        return self._until_led_by_another(node, began)

    def start_node(self, node: int) -> None:
        """Start a node, also one that was killed; it joins as a standby if another one leads."""
        config = self.folder / f"node{node}.yml"
        config.write_text(yaml.safe_dump(self._config(node)))
        self._start(f"node{node}", program("patroni"), str(config))

    def restart_dead_nodes(self) -> None:
        for node in range(NODES):
            if self._processes[f"node{node}"].poll() is not None:
                self.start_node(node)
        self.until_complete()

    def _until_led_by_another(self, node: int, began: float) -> float:
        others = [port for number, port in enumerate(self._rest_ports) if number != node]
        self._until(
            lambda: any(self._ask([port], "primary").get("role") in ("primary", "master") for port in others),
            "nobody took over",
        )
        return time.monotonic() - began

    def _config(self, node: int) -> dict[str, Any]:
        address, rest = f"{HERE}:{self.ports[node]}", f"{HERE}:{self._rest_ports[node]}"
        account = {"password": PASSWORD}
        dcs = {
            "ttl": TTL_S, "loop_wait": LOOP_S, "retry_timeout": RETRY_S, "primary_start_timeout": 0,
            "synchronous_mode": self._synchronous, "maximum_lag_on_failover": 1_000_000_000,
        }  # fmt: skip
        return {
            "scope": "cadenza",
            "name": f"node{node}",
            "restapi": {"listen": rest, "connect_address": rest},
            "etcd3": {"host": f"{HERE}:{self._etcd_ports[0]}"},
            "bootstrap": {
                "dcs": dcs | {"postgresql": {"use_pg_rewind": True}},
                "initdb": [{"encoding": "UTF8"}, {"locale": "C.UTF-8"}, "data-checksums", "no-sync"],
            },
            "postgresql": {
                "listen": address,
                "connect_address": address,
                "data_dir": str(self.folder / f"data{node}"),
                "bin_dir": str(wheel_programs()),
                "authentication": {
                    "superuser": account | {"username": "cadenza"},
                    "replication": account | {"username": "replicator"},
                },
                "pg_hba": [f"host {what} all {HERE}/32 scram-sha-256" for what in ("all", "replication")],
                "parameters": {
                    "unix_socket_directories": str(self.folder), "shared_buffers": "32MB",
                    "max_connections": 60, "fsync": "off",
                },
            },
        }  # fmt: skip

    def _start_etcd(self) -> None:
        client, peer = (f"http://{HERE}:{port}" for port in self._etcd_ports)
        self._start(
            "etcd", program("etcd"), "--name", "etcd", "--data-dir", str(self.folder / "etcd"),
            "--listen-client-urls", client, "--advertise-client-urls", client,
            "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
            "--initial-cluster", f"etcd={peer}", "--unsafe-no-fsync",
        )  # fmt: skip

    def _start(self, name: str, *command: str) -> None:
        with (self.folder / f"{name}.log").open("ab") as out:
            self._processes[name] = subprocess.Popen(
                command, stdout=out, stderr=out, cwd=self.folder, user=USER, start_new_session=True,
                env={"PATH": os.defpath, "LC_ALL": "C.UTF-8", "HOME": str(self.folder)},
            )  # fmt: skip

    def _kill(self, process: subprocess.Popen[bytes]) -> None:
        """Kill what was started, with its children: the etcd of a wheel is a child of a script."""
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def _kill_postgres(self, node: int) -> None:
        """Kill a server and all its processes at once; the children of a dead one follow it."""
        pid_file = self.folder / f"data{node}" / "postmaster.pid"
        if pid_file.exists():
            pid = int(pid_file.read_text().split()[0])
            if str(self.folder) in _command_line(pid):
                os.kill(pid, signal.SIGKILL)

    def _ask(self, ports: list[int], what: str, body: object = None) -> dict[str, Any]:
        """What the first of these nodes answers; nothing if none does, or if it refuses."""
        for port in ports:
            data = None if body is None else json.dumps(body).encode()
            try:
                with urlopen(Request(f"http://{HERE}:{port}/{what}", data), timeout=10) as answer:
                    text = answer.read().decode()
            except (URLError, OSError):
                continue
            return dict(json.loads(text)) if text.startswith("{") else {"said": text}
        return {}

    def _until(self, true: Callable[[], bool], otherwise: str) -> None:
        limit = time.monotonic() + START_TIMEOUT_S
        while not true():
            assert time.monotonic() < limit, f"{otherwise}\n{self._logs()}"
            time.sleep(0.1)

    def _logs(self) -> str:
        return "\n".join(f"{log.name}:\n{log.read_text()[-2_000:]}" for log in self.folder.glob("*.log"))


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


if __name__ == "__main__":
    for needed in ("patroni", "etcd"):
        program(needed)
