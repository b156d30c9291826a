"""The SQL of an upgrade from one version of the schema to another."""

from functools import cache
from pathlib import Path
from typing import Any, cast

from alembic import command
from alembic.config import Config

HERE = Path(__file__).parent


class _Statements(list[str]):
    """A file that collects the statements which Alembic writes."""

    def write(self, text: str) -> None:
        statement = text.strip()
        if statement and not statement.startswith("--"):
            self.append(statement)

    def flush(self) -> None:
        """Nothing is buffered."""


@cache
def statements(dialect: str, before: str | None, after: str = "head") -> tuple[str, ...]:
    """The statements for one dialect, those that record the new version among them; written once.

    Alembic writes them and the stores' own drivers carry them out, so that no
    migration needs a second driver, and a whole upgrade is one transaction.
    """
    written = _Statements()
    config = Config(output_buffer=cast("Any", written))
    config.set_main_option("script_location", str(HERE).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["dialect"] = dialect
    command.upgrade(config, f"{before}:{after}" if before else after, sql=True)
    return tuple(written)
