"""Whole numbers as JSON has them: with a point or without, and nothing else that looks like one."""

from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.surfaces.operation_requests import SERVED

from cadenza.domain.errors import InvalidRequest
from cadenza.engine.steering_commands import ProposeInterval, ProposeNextTime
from cadenza.operations.fields import Whole
from cadenza.operations.operation import Command

LEAST, MOST = -3, 1_000


class Counted(Command):
    """How many."""

    count: Annotated[int, Whole(LEAST, MOST)]


def taken(command: type[Command], field: str, value: Any) -> bool:
    """Does a command find nothing wrong with a field?"""
    try:
        command.model_validate({field: value})
    except ValidationError as problem:
        return all(error["loc"][0] != field for error in problem.errors())
    return True


def is_broken(number: float) -> bool:
    return not number.is_integer()


def test_the_schema_says_what_is_taken() -> None:
    said = {"title": "Count", "type": "integer", "minimum": LEAST, "maximum": MOST}
    assert Counted.model_json_schema()["properties"]["count"] == said


@given(st.integers(LEAST, MOST))
def test_a_whole_number_is_the_same_with_a_point(number: int) -> None:
    for written in (number, float(number)):
        count = Counted.model_validate({"count": written}).count
        assert (count, type(count)) == (number, int)


@given(st.one_of(st.integers(max_value=LEAST - 1), st.integers(MOST + 1), st.floats().filter(is_broken)))
def test_anything_else_is_refused(number: float) -> None:
    assert not taken(Counted, "count", number)


@pytest.mark.parametrize("value", [True, False, "60", None, [1], float("inf"), float("nan"), 1e300])
def test_what_only_looks_like_one_is_refused(value: Any) -> None:
    assert not taken(Counted, "count", value)


def test_every_operation_takes_its_whole_numbers_so() -> None:
    fields = [
        (operation.command, name, kind["minimum"])
        for operation, _ in SERVED
        for name, field in operation.schema.get("properties", {}).items()
        for kind in field.get("anyOf", [field])
        if kind.get("type") == "integer" and "const" not in kind
    ]
    assert len(fields) > 10
    for command, name, least in fields:
        assert taken(command, name, least), (command, name)
        assert taken(command, name, float(least)), (command, name)
        assert not taken(command, name, least + 0.5), (command, name)


def test_so_do_the_tools_of_planners() -> None:
    assert ProposeInterval.parse({"intervalMs": 60_000.0}) == ProposeInterval.parse({"intervalMs": 60_000})
    assert ProposeNextTime.parse({"nextRunInMs": 0.0}) == ProposeNextTime.parse({"nextRunInMs": 0})
    for wrong in (60_000.5, True, "60000", float("inf")):
        with pytest.raises(InvalidRequest, match="intervalMs must be a whole number"):
            ProposeInterval.parse({"intervalMs": wrong})
