"""Writes verdicts, and knows of each whether it was written, also when the answer to a commit was lost."""

from collections.abc import Mapping

from cadenza.domain.daily.keys import DailyKey
from cadenza.domain.daily.rules import MOST_LATE_VERDICTS
from cadenza.domain.daily.user import DailyUser, Finalization
from cadenza.ports.catalog import Page
from cadenza.ports.daily import DailyStore, Finalize


class VerdictWriter:
    """Returns each finalization that it wrote exactly once, whichever attempt it was.

    A write that raises may have been committed all the same. What it decided is kept
    until a later write to the same user has succeeded, and is then looked up in the store.
    """

    def __init__(self, store: DailyStore) -> None:
        self._store = store
        self._decided: dict[DailyKey, list[Finalization]] = {}

    async def write(self, rules: Mapping[DailyKey, Finalize]) -> dict[DailyKey, list[Finalization]]:
        """Decide on these users, and write it in one commit; what was written now or by a failed attempt."""

        def decide(user: DailyUser) -> Finalization | None:
            finalization = rules[user.key](user)
            new = [] if finalization is None else [finalization]
            self._decided[user.key] = [*self._possibly_written(user), *new]
            return finalization

        answers = await self._store.finalize_days(list(rules), decide)
        written = {key: await self._written(key, answer) for key, answer in zip(rules, answers, strict=True)}
        for key in rules:
            self._decided.pop(key, None)
        return written

    def _possibly_written(self, user: DailyUser) -> list[Finalization]:
        """What failed attempts decided about days that have a verdict now; the others wrote nothing."""
        earlier = self._decided.get(user.key, ())
        return [one for one in earlier if one.user.next_date <= user.next_date]

    async def _written(self, key: DailyKey, answer: Finalization | None) -> list[Finalization]:
        answered = [] if answer is None else [answer]
        decided = self._decided.get(key, ())
        if len(decided) <= len(answered):
            return answered
        verdicts = set(await self._store.verdicts_of(key, Page((len(decided) + 1) * MOST_LATE_VERDICTS)))
        gaps = set(await self._store.gaps_of(key))
        return [
            one._replace(
                verdicts=tuple(verdict for verdict in one.verdicts if verdict in verdicts),
                gap=one.gap if one.gap in gaps else None,
            )
            for one in decided
        ]
