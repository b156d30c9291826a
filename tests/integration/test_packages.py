"""What is packed: sources with all that users look for, which make a program that works."""

import re
import subprocess
import sys
import tarfile
import urllib.request
import zipfile
from pathlib import Path

from tests.surfaces.server_process import UP, running

ROOT = Path(__file__).parents[2]
LOOKED_FOR = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "ARCHITECTURE.md",
    "SECURITY.md",
    "LICENSE",
    "pyproject.toml",
    "constraints.txt",
    "hatch_build.py",
    "docs/tutorials/first-endpoint.md",
    "docs/images/overview.png",
    "deploy",
    "examples",
    "scripts/up",
    "scripts/test",
    "benchmarks",
    "tests/conftest.py",
    "web/package.json",
    "src/cadenza/surfaces/dashboard/static/index.html",
)
ASSET = re.compile(r'(?:src|href)="(/assets/[^"]+)"')


def build(kind: str, source: Path, target: Path) -> Path:
    """Pack a folder without a network and without Node."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(target)]
    subprocess.run(command, cwd=source, check=True, capture_output=True, timeout=120)
    (made,) = target.iterdir()
    return made


def fetched(address: str) -> str:
    with urllib.request.urlopen(address, timeout=30) as response:
        text: str = response.read().decode()
        return text


def test_what_is_made_from_the_packed_sources_works_with_its_dashboard(tmp_path: Path) -> None:
    packed = build("sdist", ROOT, tmp_path / "sdist")
    with tarfile.open(packed) as archive:
        archive.extractall(tmp_path / "sources", filter="data")
    (sources,) = (tmp_path / "sources").iterdir()
    assert [name for name in LOOKED_FOR if not (sources / name).exists()] == []
    assert not [path for path in sources.rglob("*") if path.name in {"node_modules", "__pycache__", ".venv"}]
    wheel = build("wheel", sources, tmp_path / "wheel")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    (tmp_path / "run").mkdir()
    with running(tmp_path / "run", UP, PYTHONPATH=str(tmp_path / "installed")) as program:
        page = fetched(program.address)
        assets = ASSET.findall(page)
        assert assets
        for asset in assets:
            assert fetched(program.address + asset)
        assert program.end() == 0
