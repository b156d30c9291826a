"""What is news: a failure where there was none, and what concerns the siblings."""

from typing import Any

import pytest
from tests.planning.test_http_hints import briefed

from cadenza.domain.json_values import Json
from cadenza.domain.planning.analysis import Trigger
from cadenza.domain.planning.run_changes import concerns_siblings, trigger_of, whole_response
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.testing import an_endpoint

ENDPOINT = an_endpoint()
OK, FAILED, SKIPPED = RunStatus.SUCCESS, RunStatus.FAILURE, RunStatus.SKIPPED


def ran(status: RunStatus, response: Json = None) -> Run:
    return briefed(response).recent[0]._replace(status=status)


@pytest.mark.parametrize(
    ("newest_first", "trigger"),
    [
        ([], Trigger.RUN),
        ([OK], Trigger.RUN),
        ([FAILED], Trigger.FAILURE),
        ([FAILED, OK], Trigger.FAILURE),
        ([FAILED, SKIPPED, OK], Trigger.FAILURE),
        ([FAILED, FAILED], Trigger.RUN),
        ([RunStatus.TIMEOUT, FAILED, OK], Trigger.RUN),
        ([OK, FAILED], Trigger.RUN),
        ([SKIPPED, FAILED, OK], Trigger.FAILURE),
    ],
)
def test_a_failure_is_new_where_there_was_none(newest_first: list[RunStatus], trigger: Trigger) -> None:
    assert trigger_of([ran(status) for status in newest_first]) is trigger


@pytest.mark.parametrize(
    ("newest", "before", "concerns"),
    [
        ((OK, 1), (OK, 1), False),
        ((OK, 2), (OK, 1), True),
        ((OK, 1), (FAILED, 1), True),
        ((OK, {"a": 1, "headers": 1}), (OK, {"a": 1, "headers": 2}), False),
        ((OK, {"a": 1}), (OK, {"a": 2}), True),
        ((OK, None), (OK, None), False),
    ],
)
def test_what_is_otherwise_than_before_concerns_the_siblings(
    newest: Any, before: Any, *, concerns: bool
) -> None:
    recent = [ran(*newest), ran(*before)]
    assert concerns_siblings(ENDPOINT, recent, whole_response) is concerns
    assert concerns_siblings(ENDPOINT, [ran(SKIPPED), *recent], whole_response) is concerns


def test_the_first_run_concerns_the_siblings_and_none_does_not() -> None:
    assert concerns_siblings(ENDPOINT, [ran(OK)], whole_response)
    assert not concerns_siblings(ENDPOINT, [], whole_response)
    assert not concerns_siblings(ENDPOINT, [ran(SKIPPED)], whole_response)


def test_what_counts_as_shown_is_for_others_to_say() -> None:
    assert not concerns_siblings(ENDPOINT, [ran(OK, 1), ran(OK, 2)], lambda _, __: "same")
