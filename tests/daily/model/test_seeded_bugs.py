"""The machine can fail: it finds every bug of a list, within its ordinary budget."""

import os

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.daily.model.seeded_bugs import BUGS, Bug
from tests.daily.model.state_machine import BUDGET, DailyMachine
from tests.daily.model.zone_bugs import ZONE_BUGS

FINDING = settings(BUDGET, phases=[Phase.generate], report_multiple_bugs=False, print_blob=False)


SLOWLY_FOUND = {
    "a_calendar_is_read_at_the_cutoff",
    "a_calendar_is_read_in_utc",
    "a_calendar_says_when_something_is_not_owed",
    "a_date_that_a_move_leaves_out_is_owed",
    "a_date_that_no_clock_shows_is_owed",
    "a_late_success_is_a_success",
    "a_lost_answer_is_not_looked_up",
    "a_repeated_time_means_its_second_pass",
    "a_retry_delay_is_shared_between_programmes",
    "a_retry_delay_is_that_of_another_programme",
    "a_skipped_time_is_moved_by_the_length_of_the_gap",
    "a_skipped_time_means_the_one_before_the_gap",
    "a_small_share_is_no_slot_at_all",
    "a_success_at_the_cutoff_is_in_time",
    "a_timeout_frees_the_slot_while_the_job_runs_on",
    "a_window_is_as_long_as_that_of_another_programme",
    "cutoffs_come_before_finished_jobs",
    "cutoffs_do_not_increase_after_a_move_east",
    "programmes_are_read_once_a_process",
    "retries_do_not_wait",
    "retries_wait_a_second_longer",
    "retries_wait_by_the_clock_on_the_wall",
    "the_cutoff_belongs_to_the_window",
    "there_is_never_a_gap",
    "there_is_one_slot_too_many",
    "what_cannot_be_written_is_forgotten",
    "what_waits_is_attempted_when_its_date_is_not_served_any_more",
    "who_waited_past_the_cutoff_is_attempted",
}
"""Within the budget too, but by many examples: for the long runs."""
ALL_BUGS = [*BUGS, *ZONE_BUGS]
SOUGHT = [bug for bug in ALL_BUGS if os.environ.get("CADENZA_SOAK") or bug.__name__ not in SLOWLY_FOUND]


def test_there_are_enough_bugs() -> None:
    names = {bug.__name__ for bug in ALL_BUGS}
    assert len(names) == len(ALL_BUGS)
    assert (len(BUGS), len(ZONE_BUGS)) == (32, 32)
    assert names > SLOWLY_FOUND


@pytest.mark.parametrize("bug", SOUGHT, ids=lambda bug: bug.__name__)
def test_the_machine_finds(bug: Bug, monkeypatch: pytest.MonkeyPatch) -> None:
    bug(monkeypatch)
    with pytest.raises(AssertionError):
        run_state_machine_as_test(DailyMachine, settings=FINDING)
