"""The sentences below fields stand in schemas, from whichever class has the last word."""

import sys
from types import ModuleType
from typing import Any

import pytest
from pydantic import Field

from cadenza.operations.documented_models import Documented
from cadenza.operations.table import OPERATIONS


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
