"""Whatever happens, in any order: I1 to I6 hold."""

import os

from hypothesis import settings
from tests.daily.model.state_machine import BUDGET, DailyMachine

TestDailyMachine = DailyMachine.TestCase
TestDailyMachine.settings = (
    settings(settings.get_profile("soak"), stateful_step_count=60)
    if os.environ.get("CADENZA_SOAK")
    else BUDGET
)
