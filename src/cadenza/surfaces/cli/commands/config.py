"""`cadenza apply` and `cadenza export`: config as code."""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from cadenza.domain.errors import InvalidRequest
from cadenza.surfaces.cli.argument_parsing import file_text
from cadenza.surfaces.cli.connection import AS_CONFIGURED, CliOptions, OperationClient
from cadenza.surfaces.cli.exits import Exit
from cadenza.surfaces.cli.operation_command import Commands, example
from cadenza.surfaces.cli.output.stdout import write, write_json
from cadenza.surfaces.cli.parameters import AtRank

if TYPE_CHECKING:  # Rich costs time.
    from cadenza.surfaces.cli.output.formatting import Part

LARGEST = 8 * 1024 * 1024
FileOption = Annotated[
    str,
    Parameter(
        name=("--file", "-f"),
        allow_leading_hyphen=True,
        help="A file in YAML or JSON; - is standard input.",
    ),
]
DryRun = Annotated[bool, Parameter(help="Show what would change, and change nothing.")]
Prune = Annotated[
    bool,
    Parameter(
        help="Delete endpoints and rules of the file's jobs that it does not name, and jobs that an earlier"
        " file made and this one does not name."
    ),
]
SIGNS = {"create": "+", "revive": "+", "update": "~", "delete": "-"}


class Config(Commands):
    """Jobs and endpoints as a file."""

    @example("-f cadenza.yaml --dry-run")
    def apply(
        self,
        *,
        file: FileOption,
        dry_run: DryRun = False,
        prune: Prune = False,
        rank: AtRank = None,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Apply a file of jobs and endpoints, in one commit."""
        from cadenza.operations.config.file import ConfigFile

        config = ConfigFile(file_text("--file", file, longest=LARGEST))

        async def request(client: OperationClient) -> Any:
            try:
                return await client.ask(
                    "apply_config", {**config.document, "dry_run": dry_run, "prune": prune}
                )
            except InvalidRequest as problem:
                raise config.located(problem) from None

        return self.answer(replace(connection, rank=rank), request, _differences)

    @example()
    def export(self, *, connection: CliOptions = AS_CONFIGURED) -> int:
        """Export everything as a file for cadenza apply. Secrets are exported as references."""
        found = self.fetch(connection, lambda client: client.ask("export_config", {}))
        if connection.json:
            write_json(found)
        else:
            from cadenza.operations.config.yaml_writer import to_yaml

            write(to_yaml(found))
        return Exit.DONE


def _differences(view: Any) -> "Iterable[Part]":
    from cadenza.surfaces.cli.output.formatting import text

    for one in view["changes"]:
        yield text(f"{SIGNS.get(one['action'], '?')} {one['action']} {one['kind']} {one['id']}")
        for field in one["fields"]:
            yield text(f"    {field['field']}: {_word(field['before'])} → {_word(field['after'])}")
    counts = ", ".join(f"{action} {count}" for action, count in view["counts"].items() if count)
    done = "Applied" if view["applied"] else "Dry run, no changes made"
    yield text(f"{done}: {counts or 'nothing'}.")


def _word(value: Any) -> str:
    import json

    return "no data" if value is None else json.dumps(value, ensure_ascii=False)
