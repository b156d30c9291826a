"""One operation by its name; the module of a frequent one is imported without the whole table."""

from importlib import import_module

from cadenza.operations.operation import AnyOperation

MODULES = {
    "list_jobs": "scheduling.jobs",
    "get_job": "scheduling.jobs",
    "create_job": "scheduling.jobs",
    "update_job": "scheduling.jobs",
    "pause_job": "scheduling.jobs",
    "resume_job": "scheduling.jobs",
    "delete_job": "scheduling.jobs",
    "list_endpoints": "scheduling.endpoints",
    "get_endpoint": "scheduling.endpoints",
    "list_runs": "scheduling.runs",
    "get_run": "scheduling.runs",
}
"""Where the operations of the commands are that people type most; the table lists all of them."""


def find_operation(name: str) -> AnyOperation | None:
    """The operation with a name; None if there is none."""
    if name in MODULES:
        found: AnyOperation = getattr(import_module(f"cadenza.operations.{MODULES[name]}"), name)
        return found
    from cadenza.operations.table import BY_NAME  # noqa: PLC0415 - It imports every operation.

    return BY_NAME.get(name)


def get_operation(name: str) -> AnyOperation:
    """The operation with a name that is known to exist."""
    found = find_operation(name)
    assert found is not None, name
    return found
