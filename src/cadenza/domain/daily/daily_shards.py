"""How users are shared out to several processes without running more jobs than one may."""

from collections.abc import Iterable
from zlib import crc32

from cadenza.domain.agents.users import UserKey

SHARDS = 32
"""Users are spread over so many shards for good: the number stands in every database."""


def shard_of(key: UserKey) -> int:
    """The shard of a user, the same in every process."""
    return crc32("\0".join(key).encode()) % SHARDS


def lanes(max_concurrency: int) -> int:
    """Into how many lanes the shards are bundled: each is served by one process, and can run a job."""
    return min(SHARDS, max_concurrency)


def shards_of_lane(lane: int, of: int) -> frozenset[int]:
    """The shards of one of so many lanes."""
    return frozenset(range(lane, SHARDS, of))


def lane_of(shard: int, of: int) -> int:
    """Which of so many lanes a shard belongs to."""
    return shard % of


def share(held: Iterable[int], max_concurrency: int) -> int:
    """How many jobs may run at once for these lanes; all lanes together have just `max_concurrency`."""
    of = lanes(max_concurrency)
    return sum(max_concurrency // of + (lane < max_concurrency % of) for lane in held)
