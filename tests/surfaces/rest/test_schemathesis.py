"""The OpenAPI document is true: it says what is taken, what is refused, and what is answered."""

import asyncio
import os
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import schemathesis
from schemathesis.checks import load_all_checks
from schemathesis.config import SchemathesisConfig
from schemathesis.core.result import Ok
from schemathesis.generation.feedback import FeedbackSources
from schemathesis.pytest._test_builder import build_operation_test
from schemathesis.python._constants.orchestrator import make_constants_value_source
from tests.surfaces.api_in_process import ApiInProcess
from tests.surfaces.operation_requests import IDS, SERVED
from tests.surfaces.tenant_with_everything import create_everything

from cadenza.domain.access.key import Scope
from cadenza.operations.table import OPERATIONS

SOAK = bool(os.environ.get("CADENZA_SOAK"))
A_MINUTE = 60_000
"""Wrong keys, which are tried as well, are forgotten by then."""

OF_TURNS = ("renew_agent_turn", "give_back_agent_turn", "answer_agent_turn", "call_agent_turn_tool")
SAID_IN_WORDS = {
    "create_job": "calendars that there are, and that are open together",
    "update_job": "the same",
    "create_endpoint": "hosts that are names, cron lines that fire, zones and calendars, min <= max, labels",
    "update_endpoint": "the same, and what cannot be null",
    "propose_interval": "hints on what runs once",
    "propose_next_time": "exactly one of two fields, moments that end after they begin",
    "pause_until": "a text that is a moment",
    "pause_endpoints": "a text that is a moment, at least one of two filters",
    "resume_endpoints": "at least one of two filters",
    "create_key": "a moment that is ahead",
    "create_rule": "conditions that can be read, endpoints that there are, steps that come later",
    "update_rule": "the same, and what cannot be null",
    "test_rule": "an endpoint, unless the rule is about one",
    "apply_config": "all that holds for endpoints, and ids that stand there once",
    "backfill": "moments in their order and in the past, one at a time, an endpoint that has slots",
    "redrive_runs": "exactly one of three places, moments in their order",
    "silence_condition": "exactly one of two fields, a moment that is ahead",
    "create_alert_route": "addresses that can be reached, and ids of jobs that there are",
    "update_alert_route": "the same, and what cannot be null",
    "set_limit": "a host that is one, at least one of two numbers",
    "delete_limit": "a host that is one",
    "put_secret": "a value that a header can carry",
    "create_schedule": "a user, unless the caller is one; exactly one of three moments, cron lines that fire",
    "update_schedule": "moments that are ahead, zones that exist, cron lines that fire, min <= max",
    "pause_schedule": "moments that are ahead",
    "snooze_schedule": "exactly one of two fields, moments that are ahead",
    "put_calendar": "one part at least, zones and countries that exist, dates in their order and ahead",
    "preview_calendar_draft": "the same",
    "put_daily_user": "zones that exist",
    "put_daily_users": "zones that exist",
    "put_programme": "hosts that are names, calendars and agents that there are, windows that are seen",
    "put_user": "zones that exist",
    "put_user_channels": "addresses that can be reached, quiet hours that begin and end at different times",
    "put_agent": "names of one line, models that are allowed, what belongs to the runtime",
    "take_agent_turn": "a pull agent",
    **dict.fromkeys(OF_TURNS, "the token of the turn, unless the caller has it"),
    "send_message": "a user, unless the caller is one; a text that says something",
    "get_timeline": "moments in their order",
    "get_simulation": "scenarios that there are",
    "preview_steering": "the arguments of what is previewed",
    "preview_baseline": "cron lines that fire, zones that exist, min <= max",
    "test_target": "hosts that are names, and no heartbeat",
    "apply_config_file": "a text that is a configuration",
} | {
    one.name: "a cursor that was given out"
    for one, _ in SERVED
    if "cursor" in one.schema.get("properties", {})
}
"""What a schema cannot say, by operation; there, valid data may be refused, and nowhere else."""

TAKEN = ["2xx", "3xx", "401", "403", "404", "409", "429", "5xx"]
REFUSED = ["400", "401", "403", "404", "405", "406", "409", "413", "415", "422", "428", "429", "5xx"]
"""413 among them: a list with one item too many may be too large before it is read."""


def config(mode: str) -> SchemathesisConfig:
    """All the checks that there are."""
    return SchemathesisConfig.from_dict(
        {
            "request-timeout": 60,  # A busy machine is slow, not wrong.
            "generation": {"mode": mode, "max-examples": 300 if SOAK else 3, "deterministic": not SOAK},
            "checks": {"negative_data_rejection": {"expected-statuses": REFUSED}},
            "operations": [
                {
                    "include-operation-id": list(SAID_IN_WORDS),
                    "checks": {"positive_data_acceptance": {"expected-statuses": [*TAKEN, "400", "422"]}},
                }
            ],
        }
    )


LABELS = [f"{one.route.method} {one.route.path}" for one in OPERATIONS if one.route is not None]


class Document:
    """The API's document, and the examples that the library makes of it."""

    def __init__(self, mode: str) -> None:
        self.api = ApiInProcess()
        self._schema = schemathesis.openapi.from_asgi("/openapi.json", self.api.app, config=config(mode))
        self._feedback = FeedbackSources(constants_value_source=make_constants_value_source(self._schema))
        load_all_checks()

    @property
    def labels(self) -> list[str]:
        return [found.ok().label for found in self._schema.get_all_operations() if isinstance(found, Ok)]

    def examine(self, label: str, check: Callable[[Any], None]) -> None:
        """Try the examples of one operation.

        The library's own `parametrize` makes those of all operations when tests are collected: in every
        process, whichever tests it is going to run.
        """
        operation = self._schema.find_operation_by_label(label)
        assert operation is not None
        examined = build_operation_test(
            config=self._schema.config,
            operation=operation,
            test_func=check,
            given_kwargs={},
            feedback=self._feedback,
        )
        examined()


@pytest.fixture(scope="module")
def anything() -> Document:
    return Document("all")


@pytest.fixture(scope="module")
def valid() -> Document:
    return Document("positive")


@pytest.mark.parametrize("label", LABELS)
def test_the_document_is_true(label: str, anything: Document) -> None:
    api = anything.api
    key = asyncio.run(api.key("north", Scope.ADMIN))

    def check(case: Any) -> None:
        api.clock.jump(A_MINUTE)
        # No schema can say that an idempotency key must be new.
        asyncio.run(api.store.idempotency.forget_replies(api.clock.now()))
        case.call_and_validate(headers={"Authorization": f"Bearer {key}"})

    anything.examine(label, check)


def an_api_with_everything() -> tuple[ApiInProcess, dict[str, str], str]:
    """One of everything, the ids that lead there, and a key."""
    api = ApiInProcess()
    ids = asyncio.run(create_everything(api, "north"))
    return api, IDS | ids, asyncio.run(api.key("north"))


@pytest.mark.parametrize("label", [label for label in LABELS if "{" in label])
def test_the_document_is_true_of_what_is_there(label: str, valid: Document) -> None:
    """Ids by chance lead to nothing; these lead to something every time."""
    something = (
        cache(an_api_with_everything) if label.startswith("GET ") else an_api_with_everything
    )  # Readers share.

    def check(case: Any) -> None:
        api, ids, key = something()
        api.clock.jump(A_MINUTE)
        case.path_parameters = {name: ids[name] for name in case.path_parameters}
        case.call_and_validate(headers={"Authorization": f"Bearer {key}"}, app=api.app)

    valid.examine(label, check)


def test_every_operation_is_in_the_document(anything: Document) -> None:
    assert sorted(anything.labels) == sorted(LABELS)


def test_what_schemas_cannot_say_is_said_of_operations_that_there_are() -> None:
    assert SAID_IN_WORDS.keys() <= {operation.name for operation, _ in SERVED}
