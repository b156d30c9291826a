"""The shape of the source: small folders, one duty a module, and names in plain words."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest
from tests.architecture.test_walk import WALK

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "cadenza"
FOLDERS = sorted(path.parent for path in SOURCE.rglob("__init__.py"))
MODULES = sorted(path for path in SOURCE.rglob("*.py") if path.name != "__init__.py")
WRITTEN = sorted(
    chain.from_iterable(
        (ROOT / folder).rglob("*.py") for folder in ("src", "tests", "benchmarks", "examples")
    )
)

MOST_MODULES = 15
GROWING = {"adapters/stores/sql/migrations/versions"}
"""A migration is never merged into another."""
FEWEST_LINES, MOST_LINES = 40, 300
SMALL = {
    "adapters/null.py": "adapters of several ports that do nothing",
    "adapters/planners/change_detection.py": "what several planners compare by",
    "adapters/stores/sql/migrations/columns.py": "what every migration imports",
    "adapters/stores/sql/migrations/env.py": "Alembic's own name",
    "adapters/stores/sql/migrations/script.py": "it alone loads Alembic",
    "adapters/stores/moves/records.py": "a start reads it, and must not load the encryption",
    "domain/daily/clock_trust.py": "a rule of its own",
    "domain/monitoring/outage.py": "a rule that the engine and adapters share",
    "engine/daily/clock.py": "a port's face for every step of the daily runner",
    "engine/worker/worker_settings.py": "what the parts of a worker share",
    "operations/single_operation.py": "it alone spares a command the table",
    "ports/clock.py": "a port",
    "ports/dispatcher.py": "a port",
    "ports/ids.py": "a port",
    "roots/wiring/http_dispatch.py": "it alone loads the HTTP client",
    "testing/builders.py": "a public name of the shipped kit",
}
"""Modules under forty lines, each with the reason why it stands alone."""

METAPHORS = """
agenda belfry bell bells chair chairs chronicle corridor crew desk door doorbell doorbells farewell furniture
household lobby mint mortality newsroom nursery office parlour postman pulse purse rulebook salon seating
shelf shelves sittings spell spells spoken supplies telling tending troupe visiting visitor
"""
"""Words that once named parts of this program and said nothing about their duty."""


PUBLISHED = {"ListSittings", "PulseView", "SpellView", "list_sittings"}
"""Names of operations and schemas that clients of the API already use."""


def name(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def modules_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.py") if path.name != "__init__.py")


@pytest.mark.parametrize("folder", FOLDERS, ids=name)
def test_a_folder_holds_at_most_fifteen_modules(folder: Path) -> None:
    assert name(folder) in GROWING or len(modules_in(folder)) <= MOST_MODULES


@pytest.mark.parametrize("folder", FOLDERS, ids=name)
def test_a_folder_says_in_one_sentence_what_belongs_there(folder: Path) -> None:
    said = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))
    assert said is not None
    assert re.fullmatch(r"[^\n]+[.]", said)


def test_no_module_is_longer_than_one_duty_needs() -> None:
    assert {name(path): lines(path) for path in MODULES if lines(path) > MOST_LINES} == {}


def test_small_modules_are_merged_or_excused_by_name() -> None:
    small = {name(path) for path in MODULES if lines(path) < FEWEST_LINES and path.parent.name != "versions"}
    assert small == set(SMALL)


def test_a_public_class_name_means_one_thing() -> None:
    """Adapters may share a name with their port, and with each other."""
    defined = defaultdict(list)
    for path in MODULES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                defined[node.name].append(name(path))
    twice = {public: files for public, files in defined.items() if len(files) > 1 and public not in PUBLISHED}
    assert {public: files for public, files in twice.items() if not _port_and_adapters(files)} == {}


def _port_and_adapters(files: list[str]) -> bool:
    return all(file.startswith(("ports/", "adapters/stores/")) for file in files)


def words(identifier: str) -> list[str]:
    """The words of a name: `DueIndex`, `due_index` and `DUE_INDEX` are two each."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", identifier)]


def names_in(path: Path) -> Iterator[str]:
    """The names that a file gives to itself, its classes and its functions."""
    yield path.stem
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name


def test_no_metaphor_names_a_module_a_class_or_a_function() -> None:
    found = {
        (path.relative_to(ROOT).as_posix(), given)
        for path in WRITTEN
        for given in names_in(path)
        if not given.startswith("test_")
        and given not in PUBLISHED
        and not set(METAPHORS.split()).isdisjoint(words(given))
    }
    assert found == set()


def _has_a_metaphor(given: str) -> bool:
    return not set(METAPHORS.split()).isdisjoint(words(given))


def test_the_map_tells_the_walk_in_its_order() -> None:
    told = re.findall(r"`engine/worker/(\w+)\.py`", (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    assert tuple(dict.fromkeys(told))[: len(WALK)] == WALK


def test_every_file_on_the_map_exists() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    files = {file for file in re.findall(r"`([\w/]+\.py)`", text) if "/" in file}
    assert files
    assert {file for file in files if not (SOURCE / file).is_file()} == set()
