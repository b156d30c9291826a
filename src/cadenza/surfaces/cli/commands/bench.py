"""`cadenza bench`: what this machine does in a second."""

from cadenza.surfaces.cli.exits import Exit
from cadenza.surfaces.cli.launchers import BenchLauncher
from cadenza.surfaces.cli.output.stdout import write, write_json
from cadenza.surfaces.cli.output.terminal import counting


def show_figures(launch: BenchLauncher, seconds: float, *, as_json: bool) -> int:
    """Measure, and print the figures."""
    with counting("measuring", total=seconds) as progress:
        figures = launch(seconds=seconds, progress=progress)
    if as_json:
        write_json(figures._asdict())
    else:
        write(
            f"{figures.plans_per_second:>9,} plans per second, half of them with hints\n"
            f"{figures.cycles_per_second:>9,} full cycles per second on SQLite\n"
            f"{figures.cpu_us_per_cycle:>9,.1f} µs of CPU for a cycle\n"
        )
    return Exit.DONE
