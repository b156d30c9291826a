"""Arguments as surfaces get them, made the command of an operation or refused with the invalid fields."""

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.field_faults import WHOLE_DOCUMENT, refuse_fields
from cadenza.operations.operation import AnyOperation

Model = TypeVar("Model", bound=BaseModel)
MOST_EXAMINED = 10_000
"""Of a document with more faults none is named: to list them would take longer than to refuse it."""


def parse_command(operation: AnyOperation, arguments: Mapping[str, Any]) -> Any:
    """The command of the arguments; InvalidRequest with the invalid fields."""
    path = "" if operation.route is None else operation.route.path
    return validated(operation.command, arguments, path=path)


def validated(model: type[Model], arguments: Mapping[str, Any], *, path: str = "") -> Model:
    """A model of the arguments, of which some may stand in a path; InvalidRequest with the invalid fields."""
    try:
        checked: Model = model.__pydantic_validator__.validate_python(arguments)
    except ValidationError as problem:
        if problem.error_count() > MOST_EXAMINED:
            message = f"The document has {problem.error_count():,} faults, too many to name one."
            raise InvalidRequest(message, WHOLE_DOCUMENT) from None
        errors = problem.errors(include_url=False)
        elsewhere = [name for name in arguments if f"{{{name}}}" in path]
        raise refuse_fields(_schema(model), arguments, errors, elsewhere) from None
    return checked


@cache
def _schema(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema()
