"""Conditions of rules in the Common Expression Language."""

import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from cadenza.adapters.planners.rules.expression_cost import Weight, bound_names, measure, tokens_of, weigh
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.planning.rules.context import NAMES, Facts
from cadenza.domain.planning.rules.rule import LONGEST_WHEN
from cadenza.domain.validation import quoted
from cadenza.ports.planning import Verdict

if TYPE_CHECKING:  # The package imports its own command line with it, which takes half a second.
    import cel

CONVERSIONS = {"string", "int", "uint", "double", "timestamp", "duration", "type", "dyn"}
PARTS_OF_DATES = {"Date", "DayOfMonth", "DayOfWeek", "DayOfYear", "FullYear", "Month"}
PARTS_OF_TIMES = {"Hours", "Minutes", "Seconds", "Milliseconds"}
FUNCTIONS = frozenset(
    {
        *("size", "contains", "startsWith", "endsWith", "matches"),
        *CONVERSIONS,
        *(f"get{part}" for part in PARTS_OF_DATES | PARTS_OF_TIMES),
    }
)
PLACE = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*?)(?: expecting .*)?$", re.MULTILINE)
WORD = re.compile(r"[A-Za-z_]\w*")
FUNCTION_ERROR = re.compile(r"Function '(\w+)' error: (.*?)\.? Check function arguments.*", re.DOTALL)
LONGEST_TROUBLE = 300
TRUTH = "({}\n) ? true : false"
"""Whatever else comes out is an error, and is not carried over."""
NOT_A_TRUTH = "when must come to true or false."
SEEN: dict[str, Any] = {
    "response": {"ok": True, "latency_ms": 120, "status": 200, "headers": {}},
    "run": {"status": "success", "late_ms": 0, "attempt": 1, "source": "baseline-interval"},
}
LIKELY: dict[str, Any] = {
    "response": SEEN["response"],
    "run": {**SEEN["run"], "is_new": True},
    "recent": [SEEN, SEEN],
    "siblings": {},
    "endpoint": {"name": "endpoint", "labels": {}, "paused": False, "failures": 0, "interval_ms": 60_000},
    "now": datetime(2025, 1, 1, tzinfo=UTC),
}
"""Something to try an expression on when it is written. Of a body nothing is known."""


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _over(summed_up: Callable[[list[Any]], Any]) -> Callable[[Any], Any]:
    """A function over a list of numbers; of anything else, and of none, it makes null."""
    return lambda values: (
        summed_up(values) if isinstance(values, list) and values and all(map(_number, values)) else None
    )


HELPERS: dict[str, Callable[[Any], Any]] = {
    "avg": _over(lambda values: sum(values) / len(values)),
    "min": _over(min),
    "max": _over(max),
    "sum": _over(sum),
}


class Compiled(NamedTuple):
    """An expression that can be evaluated."""

    program: "cel.Program"
    names: tuple[str, ...]
    """The facts that it looks at."""
    weight: Weight


class CelExpressions:
    """Compiles each expression once, and evaluates it on the facts that it names alone."""

    def check(self, expression: str) -> None:
        compiled = _compiled(expression)
        try:
            _evaluate(compiled, LIKELY)
        except (LookupError, ArithmeticError):
            return
        except TypeError:
            raise InvalidRequest(f"{NOT_A_TRUTH} Some of it cannot be compared or added.", "when") from None
        except Exception as problem:  # noqa: BLE001 - The library has errors of any kind.
            raise InvalidRequest(f"when cannot be evaluated: {_explained(problem)}", "when") from None

    def ask(self, expression: str, facts: Facts) -> Verdict:
        try:
            compiled = _compiled(expression)
            if not compiled.weight.bearable(measure({name: facts[name] for name in compiled.names})):
                return Verdict(None, "It would take too long on answers as large as these.")
            return Verdict(_evaluate(compiled, facts))
        except InvalidRequest as problem:
            return Verdict(None, problem.message)
        except Exception as problem:  # noqa: BLE001 - The library has errors of any kind.
            return Verdict(None, _explained(problem))


@lru_cache(maxsize=4_096)
def _compiled(expression: str) -> Compiled:
    """An expression that can be read, whose words are known, and that takes no longer than it may."""
    if len(expression) > LONGEST_WHEN:
        raise InvalidRequest(f"when may have {LONGEST_WHEN} characters.", "when")
    program = _read(expression)
    tokens = tokens_of(expression)
    weight = weigh(tokens)
    used = program.references()
    unknown = {*used["variables"]} - {*NAMES} - bound_names(tokens)
    unknown |= {name for name in used["functions"] if WORD.fullmatch(name)} - FUNCTIONS - HELPERS.keys()
    if unknown:
        known = ", ".join((*NAMES, *HELPERS))
        raise InvalidRequest(f"when knows no {quoted(min(unknown))}; it knows {known}.", "when")
    names = tuple(name for name in NAMES if name in used["variables"])
    return Compiled(_read(TRUTH.format(expression)), names, weight)


def _read(expression: str) -> "cel.Program":
    try:
        program: cel.Program = _library().compile(expression)
    except ValueError as problem:
        raise InvalidRequest(_place(str(problem)), "when") from None
    return program


def _place(problem: str) -> str:
    found = PLACE.search(problem)
    if found is None:
        return "when cannot be read."
    line, column, why = found.groups()
    return f"when cannot be read at line {line}, column {column}: {why[:LONGEST_TROUBLE]}."


def _evaluate(compiled: Compiled, facts: Facts) -> bool:
    context = _library().Context({name: facts[name] for name in compiled.names}, HELPERS)
    answer: bool = compiled.program.execute(context)
    return answer


def _explained(problem: Exception) -> str:
    """Why a condition cannot be told, in words."""
    match problem:
        case KeyError():
            return f"There is no {problem.args[0]} here."[:LONGEST_TROUBLE]
        case IndexError():
            return "A list is shorter than that."
        case TypeError():
            return "Some of it cannot be compared or added, or does not come to true or false."
        case _:
            pass
    function = FUNCTION_ERROR.fullmatch(str(problem))
    return (f"{function[1]}: {function[2]}." if function else str(problem))[:LONGEST_TROUBLE]


@lru_cache(maxsize=1)
def _library() -> Any:
    """The library without its command line."""
    if "cel.cel" not in sys.modules:
        package = find_spec("cel")
        assert package is not None, "it is a dependency"
        spec = PathFinder.find_spec("cel.cel", package.submodule_search_locations)
        assert spec is not None, "so is its core"
        assert spec.loader is not None, "which is a file"
        # Known under its own name, so that somebody else's import of it does not load it twice.
        sys.modules["cel.cel"] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules["cel.cel"])
    return sys.modules["cel.cel"]
