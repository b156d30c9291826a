"""What a campaign did and found."""

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

MOST_SHOWN = 50


@dataclass
class CampaignReport:
    """Counts of everything, and each violation as a sentence."""

    seed: int
    profile: str
    faults: Counter[str] = field(default_factory=Counter)
    figures: dict[str, int] = field(default_factory=dict)
    steering: Counter[str] = field(default_factory=Counter)
    """Calls that were acknowledged."""
    violations: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def exit_code(self) -> int:
        return 1 if self.violations else 0

    def as_json(self) -> str:
        shown: dict[str, Any] = {
            "seed": self.seed,
            "profile": self.profile,
            "seconds": round(self.seconds, 1),
            "faults": dict(sorted(self.faults.items())),
            "figures": self.figures,
            "steering": dict(sorted(self.steering.items())),
            "violations": self.violations,
        }
        return json.dumps(shown, indent=2)

    def as_text(self) -> str:
        began = f"Campaign with seed {self.seed} and profile {self.profile}"
        lines = [f"{began}: {self.seconds:.0f} s, {self.faults.total()} faults"]
        for title, counts in (
            ("Faults", dict(self.faults.most_common())),
            ("System", self.figures),
            ("Acknowledged calls", dict(self.steering.most_common())),
        ):
            lines += [f"{title}:", *(f"  {count:>8,}  {name}" for name, count in counts.items())]
        lines += [f"{len(self.violations)} violations"]
        return "\n".join([*lines, *(f"  {one}" for one in self.violations[:MOST_SHOWN])])
