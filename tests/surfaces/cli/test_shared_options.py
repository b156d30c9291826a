"""The options that all commands share may stand before the command, too."""

import pytest
from tests.surfaces.cli.cli_process import cadenza

from cadenza.surfaces.cli.connection import options_last

JOBS = ["jobs", "list"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (["--server", "http://a", *JOBS], [*JOBS, "--server", "http://a"]),
        (["--server=http://a", "--json", *JOBS], [*JOBS, "--server=http://a", "--json"]),
        (["--tenant", "one", "jobs", "show", "--", "-x"], ["jobs", "show", "--tenant", "one", "--", "-x"]),
        ([*JOBS, "--server", "http://a"], [*JOBS, "--server", "http://a"]),
        (["--help"], ["--help"]),
        (["--server"], ["--server"]),
        ([], []),
    ],
)
def test_shared_options_before_the_command_are_those_behind_it(written: list[str], meant: list[str]) -> None:
    assert options_last(written) == meant


def test_a_server_named_before_the_command_is_asked() -> None:
    done = cadenza("--server", "http://127.0.0.1:9", *JOBS)
    assert done.returncode == 6
    assert "http://127.0.0.1:9" in done.stderr
