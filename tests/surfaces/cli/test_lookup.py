"""A job is found by its id, its name, or by its endpoints where only programs declare it."""

from collections.abc import Mapping
from typing import Any

import pytest

from cadenza.domain.errors import NotFound
from cadenza.surfaces.cli.lookup import JOB, find_id


class Declared:
    """A client of a database with one job that has no record."""

    async def ask(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        if operation == "get_job":
            raise NotFound(f"Job {arguments['job_id']} not found.")
        is_its_own = operation == "list_endpoints" and arguments["job_id"] == "embedded"
        return {"items": [{"id": "tidy_up"}] if is_its_own else [], "next_cursor": None}


async def test_a_job_that_only_programs_declare_is_found_by_its_id() -> None:
    assert await find_id(Declared(), JOB, "embedded") == "embedded"


@pytest.mark.parametrize("word", ["nowhere", "no id at all"])
async def test_what_has_neither_record_nor_endpoints_is_not_found(word: str) -> None:
    with pytest.raises(NotFound, match="Job not found"):
        await find_id(Declared(), JOB, word)
