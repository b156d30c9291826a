"""The page of figures and the README say what the benchmarks recorded."""

import subprocess

import pytest
from benchmarks import commands
from benchmarks.figures import FOLDER, PAGE, ROOT, TABLES, recorded, with_tables


def test_the_tables_are_those_of_the_recorded_figures() -> None:
    page = PAGE.read_text()
    assert with_tables(page) == page
    assert all(f"<!-- {name} -->\n| " in page for name in TABLES)


def test_every_plot_is_there_and_shown() -> None:
    page = PAGE.read_text()
    for name in ("peers", *recorded("traces")):
        assert f"({FOLDER.name}/{name}.svg)" in page
        assert (FOLDER / f"{name}.svg").exists()


def test_the_readme_says_figures_that_were_recorded() -> None:
    readme, peers = (ROOT / "README.md").read_text(), recorded("peers")["contenders"]
    ours = peers["Cadenza"]
    nearest = min(one["ours_to_it"] for name, one in peers.items() if name.endswith(")"))
    history = max(recorded("traces").values(), key=lambda found: found["changes"])
    delay = history["policies"]["learning"]["to_fixed"]["mean"]
    assert f"**{ours['per_second']:,} full cycles a second**, {nearest:.2f} times" in readme
    assert f"**{ours['cpu_us']} µs of CPU**" in readme
    assert f"with {history['changes']} changes" in readme
    assert f"**{delay:.2f}**" in readme


def test_the_script_measures_every_table_and_the_page_names_each_command() -> None:
    page, script = PAGE.read_text(), (ROOT / "scripts" / "figures").read_text()
    (measured,) = [line for line in script.splitlines() if line.startswith("all=(")]
    assert set(measured.removeprefix("all=(").removesuffix(")").split()) == TABLES.keys()
    assert all(f"python -m benchmarks.{name}" in page for name in TABLES)


@pytest.mark.parametrize(
    ("words", "refusal"),
    [(["speed"], "there is no figure speed"), (["rest", "traces"], "the folder of uptime histories")],
)
def test_the_script_refuses_before_it_measures(words: list[str], refusal: str) -> None:
    done = subprocess.run([ROOT / "scripts" / "figures", *words], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert refusal in done.stderr
    assert "measuring" not in done.stderr


def test_the_command_benchmark_runs() -> None:
    found = commands.measure(1)
    assert 0 < found["bare_cpu_s"] < found["file_cpu_s"]
    assert found.keys() == recorded("commands").keys()
