"""The published model's run, held against the counts that were published."""

from collections.abc import Mapping
from typing import NamedTuple

from cadenza.sim.recording import Recording


class Reference(NamedTuple):
    """Published counts, by endpoint and by the governor's answer after each run."""

    runs: Mapping[str, int]
    sources: Mapping[str, int]


class Parity(NamedTuple):
    """What the published model gave, and what was published, if anything was."""

    runs: Mapping[str, int]
    sources: Mapping[str, int]
    reference: Reference | None

    @property
    def equal(self) -> bool | None:
        """Are all counts the published ones? None where none were published."""
        if self.reference is None:
            return None
        return (self.runs, self.sources) == (self.reference.runs, self.reference.sources)

    @property
    def sentence(self) -> str:
        """All of it in a line."""
        total = sum(self.runs.values())
        if self.reference is None:
            return f"as published: {total} runs; no counts were published to compare them with"
        line = f"as published: {total} runs of {sum(self.reference.runs.values())}"
        differing = [*_differences(self.runs, self.reference.runs)]
        differing += _differences(self.sources, self.reference.sources)
        if differing:
            return f"{line}, differing in {', '.join(differing)}"
        return f"{line}, per endpoint and per source equal"


def compared(recording: Recording, reference: Reference | None) -> Parity:
    """The published model's recording beside the reference."""
    return Parity(recording.counts(), recording.sources(), reference)


def _differences(found: Mapping[str, int], published: Mapping[str, int]) -> list[str]:
    return [
        f"{name} ({found.get(name, 0)} instead of {published.get(name, 0)})"
        for name in {**published, **found}
        if found.get(name, 0) != published.get(name, 0)
    ]
