"""Which of PostgreSQL's abilities an engine has that speaks its language."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Self

WITHOUT = "no-"


@dataclass(frozen=True, slots=True)
class EngineProfile:
    """What a store may use, and what it does otherwise.

    In a text an ability that is missing is written `no-row-places`, `no-advisory-locks` and so on.
    """

    row_places: bool = True
    """`ctid` finds a row. Otherwise claims are leased and settled by key."""
    advisory_locks: bool = True
    """Advisory locks work, and end with their session. Otherwise rows of the table `locks` are leased."""
    notifications: bool = True
    """LISTEN and NOTIFY work. Otherwise changes of other processes are found by polling."""
    partitions: bool = True
    """Partitions can be made and dropped at any time. Otherwise `runs` is one table with bounded deletes."""
    skip_locked_in_ctes: bool = True
    """One statement can choose, lock and lease rows. Otherwise it takes three, in one transaction."""
    idle_queries: bool = True
    """Queries cost nothing while nothing happens. Otherwise one process, `cadenza up`, makes none meanwhile,
    so that the server can fall asleep."""

    @property
    def claims_in_one_statement(self) -> bool:
        """A claim is one statement."""
        return self.row_places and self.skip_locked_in_ctes

    def without(self, *abilities: str) -> Self:
        """The same without some abilities; a server that falls asleep loses what sessions hold."""
        lost = SESSION_BOUND if "idle_queries" in abilities else ()
        return replace(self, **dict.fromkeys((*abilities, *lost), False))

    @property
    def in_words(self) -> str:
        """What is missing, for an operator."""
        missing = [_word(name).replace("-", " ") for name in ABILITIES if not getattr(self, name)]
        return f"does without {', '.join(missing)}" if missing else "uses everything PostgreSQL has"

    def __str__(self) -> str:
        missing = [f"{WITHOUT}{_word(name)}" for name in ABILITIES if not getattr(self, name)]
        return ",".join(missing) or "postgresql"


SESSION_BOUND = ("advisory_locks", "notifications")
ABILITIES = tuple(one.name for one in fields(EngineProfile))
POSTGRESQL = EngineProfile()
DISTRIBUTED = EngineProfile().without(*(name for name in ABILITIES if name != "idle_queries"))
NAMED: Mapping[str, EngineProfile] = MappingProxyType(
    {
        "postgresql": POSTGRESQL,
        "aurora": POSTGRESQL,
        "aurora-serverless": POSTGRESQL.without("advisory_locks", "notifications"),
        "neon": POSTGRESQL.without("advisory_locks", "notifications"),
        "citus": POSTGRESQL.without("row_places", "partitions", "skip_locked_in_ctes"),
        "yugabytedb": DISTRIBUTED,
        "cockroachdb": DISTRIBUTED,
        "sleeping": POSTGRESQL.without("idle_queries"),
    }
)
"""Engines by name. What of this was tried on the engine itself is said in docs/how-to/other-engines.md."""


def profile_of(text: str) -> EngineProfile:
    """The profile of a text: the name of an engine, abilities that are missing, or both, behind commas.

    ValueError if a word is neither.
    """
    profile = POSTGRESQL
    for position, word in enumerate(part.strip() for part in text.split(",")):
        profile = NAMED[word] if position == 0 and word in NAMED else profile.without(_ability(word))
    return profile


def _ability(word: str) -> str:
    found = {f"{WITHOUT}{_word(name)}": name for name in ABILITIES}
    if word not in found:
        raise ValueError(word)
    return found[word]


def _word(name: str) -> str:
    return name.replace("_", "-")
