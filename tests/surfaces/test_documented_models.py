"""The sentences below fields stand in schemas, from whichever class has the last word."""

import sys
from collections.abc import Iterator
from functools import cached_property
from types import ModuleType
from typing import Any, get_args

import pytest
from pydantic import BaseModel, Field, RootModel, SecretStr

from cadenza.domain.scheduling.hint import IntervalHint
from cadenza.operations.documented_models import Documented, as_json
from cadenza.operations.operation import AnyOperation
from cadenza.operations.scheduling.endpoint_view import EndpointView
from cadenza.operations.table import OPERATIONS
from cadenza.testing import an_endpoint
from cadenza.testing.clock import NEW_YEAR


class Base(Documented):
    """What others inherit."""

    plain: int
    told: int
    """Told below,
    on two lines."""
    said: int = Field(default=1, description="Said in the field.")
    """Not this."""
    changed: int = 0
    """As it was."""


class Nested(Documented):
    """A part of another."""

    inner: int
    """Within."""


class Heir(Base):
    """Has more, and says one thing anew."""

    changed: int = 1
    """As it is now."""
    own: Nested | None = None
    """Its own."""
    last: int = 0

    def changed_twice(self) -> int:
        """Not a field."""
        return self.changed * 2


def told(model: type[Documented]) -> dict[str, Any]:
    return {name: field.get("description") for name, field in model.model_json_schema()["properties"].items()}


def test_fields_are_described_by_what_stands_below_them() -> None:
    assert told(Base) == {
        "plain": None,
        "told": "Told below,\non two lines.",
        "said": "Said in the field.",
        "changed": "As it was.",
    }


def test_an_heir_says_what_it_inherits_and_has_the_last_word() -> None:
    assert told(Heir) == told(Base) | {"changed": "As it is now.", "own": "Its own.", "last": None}


def test_parts_are_described_too() -> None:
    (nested,) = Heir.model_json_schema()["$defs"].values()
    assert nested["properties"]["inner"]["description"] == "Within."


@pytest.mark.parametrize("file", [None, "nowhere.py"])
def test_without_its_source_a_model_has_a_schema_all_the_same(
    monkeypatch: pytest.MonkeyPatch, file: str | None
) -> None:
    module = ModuleType("nowhere")
    module.__file__ = file
    monkeypatch.setitem(sys.modules, "nowhere", module)
    made: dict[str, Any] = {"__name__": "nowhere", "Documented": Documented}
    exec("class Made(Documented):\n    count: int\n    '''Nobody reads this.'''", made)
    assert told(made["Made"]) == {"count": None}


def test_of_the_operations_fields_none_lost_its_sentence() -> None:
    """Some field of every command with a sentence in its source has it in its schema."""
    described = [one.name for one in OPERATIONS if any(told_in(one.schema))]
    assert {"create_schedule", "create_endpoint", "put_agent", "create_key"} <= set(described)


def told_in(schema: dict[str, Any]) -> list[str]:
    return [field["description"] for field in schema.get("properties", {}).values() if "description" in field]


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models that a field's type names."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from models_in(part)


def written_with(model: type[BaseModel], seen: set[type[BaseModel]]) -> set[type[BaseModel]]:
    """A model, and all that stand in its fields."""
    if model not in seen:
        seen.add(model)
        for field in model.model_fields.values():
            for part in models_in(field.annotation):
                written_with(part, seen)
    return seen


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)
def test_nothing_of_a_view_is_written_otherwise_than_by_the_names_of_its_fields(
    operation: AnyOperation,
) -> None:
    for model in written_with(operation.view, set()):
        decorators = model.__pydantic_decorators__
        assert not issubclass(model, RootModel)
        for found in ("field_serializers", "model_serializers", "computed_fields"):
            assert not getattr(decorators, found)
        assert not any(field.serialization_alias or field.exclude for field in model.model_fields.values())
        assert model.model_config.get("extra") != "allow"
        assert not any(isinstance(one, cached_property) for one in vars(model).values())


def test_a_view_is_written_as_pydantic_writes_it() -> None:
    hint = IntervalHint(60_000, NEW_YEAR, 'it "burns"\u2028', "rule:surge")
    steered: dict[str, Any] = {"interval_hint": hint, "labels": {"team": "web"}, "failure_count": 3}
    for fields in ({}, steered):
        view = EndpointView.of(an_endpoint(next_run_at=NEW_YEAR, **fields))
        assert as_json(view) == view.model_dump_json().encode()


class Odd(BaseModel):
    """What orjson does not know."""

    number: int = 2**70
    words: frozenset[str] = frozenset({"one"})
    secret: SecretStr = SecretStr("hidden")


def test_what_orjson_does_not_know_is_left_to_pydantic() -> None:
    for odd in (Odd(), Odd(number=1), Odd(number=1, words=frozenset())):
        assert as_json(odd) == odd.model_dump_json().encode()
        assert b"hidden" not in as_json(odd)


class Partial(BaseModel):
    """Leaves out what was not given."""

    given: int | None = Field(default=None, exclude_if=lambda value: value is None)


class Whole(BaseModel):
    """Has a part that leaves something out."""

    part: Partial = Partial()


def test_a_model_that_leaves_fields_out_is_left_to_pydantic() -> None:
    for model in (Partial(), Partial(given=1), Whole()):
        assert as_json(model) == model.model_dump_json().encode()
