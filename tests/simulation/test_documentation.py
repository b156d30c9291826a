"""The pages about the simulator tell the truth."""

import re
from pathlib import Path
from typing import Any

import pytest
from tests.simulation.documented_tables import (
    assertion_rows,
    endpoint_rows,
    host_rules,
    minute_rows,
    sale_rules,
)

from cadenza.sim.catalogue import CATALOGUE, run_product, run_prototype, simulate
from cadenza.sim.flash_sale.scenario import WORLD as SALE
from cadenza.sim.report import document
from cadenza.sim.system_resources.scenario import WORLD as HOST
from cadenza.sim.world import MINUTES, World

DOCS = Path(__file__).parents[2] / "docs"
EXPLANATION = (DOCS / "explanation" / "flash-sale.md").read_text()
HOST_EXPLANATION = (DOCS / "explanation" / "system-resources.md").read_text()
REFERENCE = (DOCS / "reference" / "simulator.md").read_text()


def section(page: str, title: str) -> str:
    """What stands under a heading, up to the next."""
    _, _, rest = page.partition(f"## {title}\n")
    assert rest, f"there is no section {title!r}"
    return re.split(r"\n##+ ", rest)[0]


def rows(text: str) -> list[list[str]]:
    """The cells of all lines that stand in tables, without their code marks."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip().replace("`", "") for cell in line.strip("|").split("|")] for line in lines]


def names(text: str) -> list[str]:
    return [cells[0] for cells in rows(text) if re.fullmatch(r"[a-z]+(-[a-z]+)+", cells[0])]


def test_every_check_of_the_flash_sale_is_explained_in_its_order() -> None:
    assert names(section(EXPLANATION, "The eighteen checks")) == list(CATALOGUE["flash-sale"].checks)


def test_every_check_of_the_host_is_explained_in_its_order() -> None:
    assert names(section(REFERENCE, "System resources")) == list(CATALOGUE["system-resources"].checks)


async def test_the_counts_on_the_page_are_those_of_the_simulations() -> None:
    entry = CATALOGUE["flash-sale"]
    published, corrected = await run_prototype(entry.published()), await run_product(entry.corrected())
    told = {cells[0]: cells[1:3] for cells in rows(section(EXPLANATION, "Why the numbers differ"))}
    for name, count in corrected.counts().items():
        assert told[name] == [str(published.counts()[name]), str(count)]
    assert told["all"] == [str(len(published.runs)), str(len(corrected.runs))]
    for source in {**published.sources(), **corrected.sources()}:
        counts = [str(recording.sources().get(source, 0)) for recording in (published, corrected)]
        assert told[source] == counts


def table_lines(text: str) -> list[str]:
    """The lines of a section's last table, without its head."""
    return [line for line in text.splitlines() if line.startswith("|")][2:]


async def test_all_ten_endpoints_and_every_run_of_the_sale_are_on_its_page() -> None:
    recording = await run_product(CATALOGUE["flash-sale"].corrected())
    ten = section(EXPLANATION, "The ten endpoints")
    assert table_lines(ten) == endpoint_rows(recording.scenario, sale_rules())
    assert table_lines(section(EXPLANATION, "Minute by minute")) == minute_rows(recording)


async def test_both_endpoints_every_run_and_every_assertion_of_the_host_are_on_its_page() -> None:
    entry = CATALOGUE["system-resources"]
    recording = await run_product(entry.corrected())
    assert table_lines(section(HOST_EXPLANATION, "The two endpoints")) == endpoint_rows(
        recording.scenario, host_rules()
    )
    assert table_lines(section(HOST_EXPLANATION, "Minute by minute")) == minute_rows(recording)
    assertions = assertion_rows(await run_prototype(entry.published()), recording)
    assert table_lines(section(HOST_EXPLANATION, "Corrected against published")) == assertions


@pytest.mark.parametrize(("page", "world"), [(EXPLANATION, SALE), (HOST_EXPLANATION, HOST)])
def test_the_phases_on_both_pages_are_those_of_the_worlds(page: str, world: World[Any]) -> None:
    ends = [phase.first_minute for phase in world.phases[1:]] + [MINUTES]
    spans = [
        [phase.name, f"{phase.first_minute}\N{EN DASH}{end - 1}"]
        for phase, end in zip(world.phases, ends, strict=True)
    ]
    assert [cells[:2] for cells in rows(section(page, "The story"))[2:]] == spans


async def test_the_counts_of_the_host_are_those_of_the_simulations() -> None:
    entry = CATALOGUE["system-resources"]
    told = {cells[0]: cells[1:] for cells in rows(section(REFERENCE, "System resources"))}
    for mode, recording in (
        ("as published", await run_prototype(entry.published())),
        ("corrected", await run_product(entry.corrected())),
    ):
        sources = ", ".join(f"{source} {count}" for source, count in recording.sources().items())
        assert told[mode] == [*map(str, recording.counts().values()), sources]


@pytest.mark.parametrize("name", CATALOGUE)
async def test_every_field_of_the_document_is_in_the_reference(name: str) -> None:
    told = {field for cells in rows(section(REFERENCE, "JSON"))[2:] for field in cells[0].split(", ")}
    assert set(document(await simulate(name))) <= told


async def test_every_column_is_in_the_reference() -> None:
    for name in CATALOGUE:
        for column in (await simulate(name)).recording.scenario.columns:
            assert f"`{column.name}`" in section(REFERENCE, "JSON")
