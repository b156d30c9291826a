"""Operations that take and give a configuration as the text of a file, such as `cadenza.yaml`."""

from asyncio import to_thread
from typing import Annotated, Any

from pydantic import StringConstraints

from cadenza.domain.access.key import Scope
from cadenza.domain.errors import InvalidRequest
from cadenza.operations.arguments import validated
from cadenza.operations.config.apply import (
    AppliedView,
    ApplyConfig,
    ExportConfig,
    apply_config,
    export_config,
)
from cadenza.operations.config.file import ConfigFile
from cadenza.operations.config.yaml_writer import to_yaml
from cadenza.operations.context import RequestContext
from cadenza.operations.fields import Flag
from cadenza.operations.operation import Command, View, operation

LONGEST_FILE = 1 << 20


class ApplyConfigFile(Command):
    """The text of a configuration file, and how far to go with it."""

    text: Annotated[str, StringConstraints(strict=True, max_length=LONGEST_FILE)]
    """YAML or JSON."""
    dry_run: Flag = False
    """Report what would change, and change nothing."""
    prune: Flag = False
    """Delete what earlier files made and this one does not name, as `apply_config` does."""


class ConfigFileView(View):
    """Everything as the text of a configuration file. Secrets are in it as references alone."""

    text: str


@operation("POST /v1/apply/file", Scope.WRITE, agent=False, bulk=True, ranked=True)
async def apply_config_file(context: RequestContext, command: ApplyConfigFile) -> AppliedView:
    """Apply the text of a configuration file, as `apply_config` does; a refusal names the lines at fault."""
    file = await to_thread(_read, command.text)
    options = {"dry_run": command.dry_run, "prune": command.prune}
    try:
        wanted = await to_thread(validated, ApplyConfig, {**file.document, **options})
        return await apply_config.handle(context, wanted)
    except InvalidRequest as problem:
        raise file.located(problem) from None


def _read(text: str) -> ConfigFile:
    try:
        return ConfigFile(text)
    except InvalidRequest as problem:
        raise InvalidRequest(problem.message, "text") from None


@operation("GET /v1/export/file", Scope.READ, agent=False, bulk=True)
async def export_config_file(context: RequestContext, command: ExportConfig) -> ConfigFileView:
    """Export everything as the text of a configuration file, in YAML."""
    config = await export_config.handle(context, command)

    def write() -> ConfigFileView:
        document: dict[str, Any] = config.model_dump(mode="json")
        return ConfigFileView(text=to_yaml(document))

    return await to_thread(write)


CONFIG_FILE = (apply_config_file, export_config_file)
