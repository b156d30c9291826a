"""How long the check of a key takes: right, with a wrong secret, or of an unknown id."""

import argparse
import asyncio
import json
import tempfile
from hashlib import sha256
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter_ns

from benchmarks.servers import a_server, new_database

from cadenza.adapters.clock import SystemClock
from cadenza.adapters.ids import RandomTokens, TimeOrderedIds
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.domain.access.key import ApiKey, Scope
from cadenza.operations.access.key_tokens import PREFIX, valid_key
from cadenza.ports.access import StoredKey
from cadenza.ports.store import Store

NOW = SystemClock().now()


async def measure(store: Store, checks: int) -> dict[str, float]:
    """Microseconds of each kind of check; they take turns in a random order, and the median counts."""
    secret, random = RandomTokens().secret(), Random(1)
    for number in range(1_000):
        key = ApiKey(
            id=f"key{number:09}", tenant_id="t", name="key", scopes=frozenset({Scope.READ}), created_at=NOW
        )
        await store.keys.add_key(StoredKey(key, sha256(secret.encode()).digest()))
    tokens = {
        "right": f"{PREFIX}key{0:09}_{secret}",
        "wrong_first_letter": f"{PREFIX}key{0:09}_{'a' if secret[0] != 'a' else 'b'}{secret[1:]}",
        "wrong_last_letter": f"{PREFIX}key{0:09}_{secret[:-1]}{'a' if secret[-1] != 'a' else 'b'}",
        "unknown_id": f"{PREFIX}key{1_001:09}_{secret}",
    }
    taken: dict[str, list[int]] = {name: [] for name in tokens}
    for _ in range(checks):
        for name in random.sample(list(tokens), len(tokens)):
            began = perf_counter_ns()
            await valid_key(store.keys, tokens[name], NOW)
            taken[name].append(perf_counter_ns() - began)
    return {f"{name}_us": round(median(times) / 1_000, 2) for name, times in taken.items()}


async def on_sqlite(checks: int) -> dict[str, float]:
    """In a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "keys.db"
        await migrate(f"sqlite:///{path}")
        store = SqliteStore(SqliteFile(path), TimeOrderedIds())
        results = await measure(store, checks)
        await store.close()
        return results


async def on_postgres(checks: int) -> dict[str, float]:
    """On a server of our own."""
    with a_server() as cluster:
        store = PostgresStore(PostgresPool(await new_database(cluster, "keys")), TimeOrderedIds())
        results = await measure(store, checks)
        await store.close()
        return results


def main() -> None:
    """Print the figures, for people or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--checks", type=int, default=5_000)
    options = parser.parse_args()
    results = {
        "sqlite": asyncio.run(on_sqlite(options.checks)),
        "postgres": asyncio.run(on_postgres(options.checks)),
    }
    if options.json:
        print(json.dumps(results))
        return
    for database, figures in results.items():
        print(database, *(f"{name} {value}" for name, value in figures.items()), sep="   ")


if __name__ == "__main__":
    main()
