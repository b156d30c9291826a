"""The program in this process, without any settings of the machine."""

import os
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stdout
from io import StringIO
from tempfile import TemporaryDirectory

from tests.public_surface.internals import main


def printed(*arguments: str, **settings: str) -> str:
    """What a command prints that must succeed; settings are named without their prefix."""
    shown = StringIO()
    with _alone(settings), redirect_stdout(shown):
        code = main(arguments)
    assert code == 0, f"cadenza {' '.join(arguments)} ended with {code}"
    return shown.getvalue()


@contextmanager
def _alone(settings: dict[str, str]) -> Iterator[None]:
    """An empty folder, so that no file `.env` is read, and no variables but these."""
    before = {name: value for name, value in os.environ.items() if name.startswith("CADENZA_")}
    with TemporaryDirectory() as folder, chdir(folder):
        try:
            _replace({f"CADENZA_{name.upper()}": value for name, value in settings.items()})
            yield
        finally:
            _replace(before)


def _replace(variables: dict[str, str]) -> None:
    for name in [name for name in os.environ if name.startswith("CADENZA_")]:
        del os.environ[name]
    os.environ.update(variables)
