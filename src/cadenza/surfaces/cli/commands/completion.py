"""`cadenza --install-completion`: let the shell complete commands and options."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from cadenza.domain.errors import InvalidRequest, Unavailable
from cadenza.surfaces.cli.exits import Exit
from cadenza.surfaces.cli.output.stdout import write

Shell = Literal["zsh", "bash", "fish", "powershell"]
Output = Annotated[
    Path | None, Parameter(help="Write the script here, and leave the shell's own files alone.")
]


def add_completion(app: App) -> None:
    """The command, beside --help and --version."""

    @app.command(
        name="--install-completion", help_epilogue="Example: cadenza --install-completion --shell bash"
    )
    def install_completion(*, shell: Shell | None = None, output: Output = None) -> int:
        """Let the shell complete commands and options."""
        from cyclopts.completion.detect import ShellDetectionError, detect_shell

        try:
            chosen = shell or detect_shell()
            path = app.install_completion(shell=chosen, output=output, add_to_startup=output is None)
        except ShellDetectionError:
            raise InvalidRequest("This shell is not known; name it with --shell.", "--shell") from None
        except OSError as problem:
            raise Unavailable(f"The script cannot be written: {problem.strerror}.") from None
        write(f"Completion for {chosen} is in {path}; it works in the next shell.\n")
        return Exit.DONE
