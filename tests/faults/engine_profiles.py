"""The engine profiles that faults are tried with: two of them always, the others in the soak."""

import os

from cadenza.adapters.stores.postgres.engines.profile import ABILITIES, DISTRIBUTED, POSTGRESQL

SOAK = bool(os.environ.get("CADENZA_SOAK"))
EVERYTHING, NOTHING = str(POSTGRESQL), str(DISTRIBUTED)
"""The profiles that have every ability, and none."""
EACH = [str(POSTGRESQL.without(ability)) for ability in ABILITIES]
PROFILES = [EVERYTHING, *(EACH if SOAK else []), NOTHING]
PROFILES_IN_SOAK = PROFILES if SOAK else [EVERYTHING]
"""For tests that take long, and have a relative that runs with `PROFILES`."""
