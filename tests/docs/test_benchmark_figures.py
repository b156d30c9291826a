"""The page of figures and the README say what the benchmarks recorded."""

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
