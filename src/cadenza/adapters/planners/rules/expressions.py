"""Conditions of rules and of probes in the Common Expression Language."""

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from cadenza.adapters.planners.rules.expression_cost import (
    ExpressionCost,
    cost_of,
    size_of,
    tokens_of,
)
from cadenza.adapters.planners.rules.field_names import unknown_field
from cadenza.domain.agents.probe import VARIABLES as PROBE_VARIABLES
from cadenza.domain.agents.probe import sample_probe
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.planning.rules.context import (
    VARIABLES,
    Fields,
    Variables,
    fields_of,
    sample_variables,
    variable_fields,
)
from cadenza.domain.planning.rules.incidents import Evaluation
from cadenza.domain.planning.rules.rule import LONGEST_WHEN
from cadenza.domain.validation import quoted
from cadenza.domain.wording import nearest_first

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
ERROR_POSITION = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*?)(?: expecting .*)?$", re.MULTILINE)
WORD = re.compile(r"[A-Za-z_]\w*")
FUNCTION_ERROR = re.compile(r"(?:Function|Undefined variable or function:) '(\w+)'")
WRONG_INPUT = re.compile(r"(?:input|error at:) '(.*)'", re.DOTALL)
LONGEST_PART = 40
LONGEST_ERROR = 300
FIELDS = variable_fields()
AS_BOOLEAN = "({}\n) ? true : false"
"""A value that is not boolean is an error instead of being converted."""
NOT_BOOLEAN = "when must come to true or false, and compare and add only what can be."
SAMPLE_VARIABLES = sample_variables({"status": 200, "headers": {}})
"""Variables to try a new expression on; the body of a response is left out, as it could be anything."""


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _list_function(aggregate: Callable[[list[Any]], Any]) -> Callable[[Any], Any]:
    """A function over a list of numbers; null for an empty list or any other value."""
    return lambda values: (
        aggregate(values) if isinstance(values, list) and values and all(map(_number, values)) else None
    )


HELPERS: dict[str, Callable[[Any], Any]] = {
    "avg": _list_function(lambda values: sum(values) / len(values)),
    "min": _list_function(min),
    "max": _list_function(max),
    "sum": _list_function(sum),
}


@dataclass(frozen=True, slots=True, eq=False)
class ExpressionScope:
    """What expressions of one kind can read, and the field in which they are written."""

    field: str
    names: tuple[str, ...]
    fields: Mapping[str, Fields]
    sample: Variables
    """Values to try a new expression on."""

    def named(self, problem: InvalidRequest) -> InvalidRequest:
        """A refusal, which speaks of `when`, about the field of this kind."""
        return InvalidRequest(f"{self.field}{problem.message.removeprefix('when')}", self.field)


RULES = ExpressionScope("when", VARIABLES, FIELDS, SAMPLE_VARIABLES)
SAMPLE_PROBE = sample_probe({"status": 200, "headers": {}})
WHOLE_PROBE = sample_probe({"status": 200, "headers": {}, "body": None})
PROBE_FIELDS = {name: fields_of(value) for name, value in WHOLE_PROBE.items()}
PROBES = ExpressionScope("condition", PROBE_VARIABLES, PROBE_FIELDS, SAMPLE_PROBE)


class CompiledExpression(NamedTuple):
    """An expression that can be evaluated."""

    program: "cel.Program"
    names: tuple[str, ...]
    """The variables that it reads."""
    cost: ExpressionCost
    unknown_field: str | None
    """A sentence about a name or a field that there never is."""


class CelExpressions:
    """Compiles each expression once, and evaluates it with only the variables that it names."""

    def __init__(self, scope: ExpressionScope = RULES) -> None:
        self._scope = scope

    def check(self, expression: str) -> None:
        try:
            self._check(expression)
        except InvalidRequest as problem:
            raise self._scope.named(problem) from None

    def _check(self, expression: str) -> None:
        compiled = _compiled_expression(expression, self._scope)
        if compiled.unknown_field is not None:
            raise InvalidRequest(compiled.unknown_field, "when")
        try:
            _evaluate(compiled, self._scope.sample)
        except (LookupError, ArithmeticError):
            return
        except TypeError:
            raise InvalidRequest(NOT_BOOLEAN, "when") from None
        except Exception as problem:  # noqa: BLE001 - The library has errors of any kind.
            why = _error_text(problem)
            raise InvalidRequest(f"when cannot be evaluated: {why[0].lower()}{why[1:]}", "when") from None

    def evaluate(self, expression: str, variables: Variables) -> Evaluation:
        try:
            compiled = _compiled_expression(expression, self._scope)
            if not compiled.cost.is_affordable(size_of({name: variables[name] for name in compiled.names})):
                return Evaluation(None, "It would take too long on answers as large as these.")
        except InvalidRequest as problem:
            return Evaluation(None, self._scope.named(problem).message)
        try:
            return Evaluation(_evaluate(compiled, variables))
        except Exception as problem:  # noqa: BLE001 - The library has errors of any kind.
            return Evaluation(None, compiled.unknown_field or _error_text(problem))


@lru_cache(maxsize=4_096)
def _compiled_expression(expression: str, scope: ExpressionScope) -> CompiledExpression:
    """Compile; InvalidRequest if the syntax, a name or the cost is not acceptable."""
    if len(expression) > LONGEST_WHEN:
        raise InvalidRequest(f"when may have {LONGEST_WHEN} characters.", "when")
    program = _compile(expression)
    tokens = tokens_of(expression)
    cost = cost_of(tokens)
    used = program.references()
    _refuse_unknown_functions({name for name in used["functions"] if WORD.fullmatch(name)})
    names = tuple(name for name in scope.names if name in used["variables"])
    wrong = unknown_field(tokens, scope.fields)
    return CompiledExpression(_compile(AS_BOOLEAN.format(expression)), names, cost, wrong)


def _refuse_unknown_functions(names: set[str]) -> None:
    known = sorted(FUNCTIONS | HELPERS.keys())
    unknown = names - {*known}
    if unknown:
        name = min(unknown)
        raise InvalidRequest(f"when has no {quoted(name)}; it has {nearest_first(name, known)}.", "when")


def _compile(expression: str) -> "cel.Program":
    try:
        program: cel.Program = _cel_module().compile(expression)
    except ValueError as problem:
        raise InvalidRequest(_syntax_error(str(problem)), "when") from None
    return program


def _syntax_error(problem: str) -> str:
    found = ERROR_POSITION.search(problem)
    if found is None:
        return "when cannot be read."
    line, column, why = found.groups()
    return f"when cannot be read at line {line}, column {column}: {_syntax_in_words(why)}."


def _syntax_in_words(why: str) -> str:
    """What the parser complains about, without its own words for it."""
    wrong = WRONG_INPUT.search(why)
    if wrong is None:
        return "something is missing or out of place there"
    if wrong[1].startswith(("'", '"')):
        return "a text that begins there does not end"
    return "it ends too early" if wrong[1] == "<EOF>" else f"{wrong[1][:LONGEST_PART]} is out of place there"


def _evaluate(compiled: CompiledExpression, variables: Variables) -> bool:
    context = _cel_module().Context({name: variables[name] for name in compiled.names}, HELPERS)
    answer: bool = compiled.program.execute(context)
    return answer


def _error_text(problem: Exception) -> str:
    """Why a condition cannot be evaluated, as text."""
    match problem:
        case KeyError():
            return f"{problem.args[0]} not found."[:LONGEST_ERROR]
        case IndexError():
            return "A list is shorter than that."
        case TypeError():
            return "Some of it cannot be compared or added, or does not come to true or false."
        case ArithmeticError():
            return "It divides by zero, or a number becomes too large."
        case _:
            function = FUNCTION_ERROR.match(str(problem))
            return f"{function[1]} cannot take what it is given." if function else "It comes to nothing here."


@lru_cache(maxsize=1)
def _cel_module() -> Any:
    """The CEL library without its command line."""
    if "cel.cel" not in sys.modules:
        package = find_spec("cel")
        assert package is not None, "it is a dependency"
        spec = PathFinder.find_spec("cel.cel", package.submodule_search_locations)
        assert spec is not None, "so is its core"
        assert spec.loader is not None, "which is a file"
        # Registered under its own name, so that another import does not load it twice.
        sys.modules["cel.cel"] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules["cel.cel"])
    return sys.modules["cel.cel"]
