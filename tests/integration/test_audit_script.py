"""`scripts/audit` says which it is: a vulnerability, an unknown version, or a service that is silent."""

import shutil
import subprocess
from pathlib import Path

import pytest

AUDIT = Path(__file__).parents[2] / "scripts" / "audit"
NOT_FOUND = "ERROR:pip_audit._cli:%s: Dependency not found on PyPI and could not be audited: %s"
LIBRARY = """
root=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
prepare_uv() { :; }
fail() { echo "cadenza: $*" >&2; exit 1; }
uv() {
    case $(cat -- "${*: -1}") in
        packaging*) source "$root/known.sh" ;;
        *) source "$root/wanted.sh" ;;
    esac
}
"""
"""What the script takes from lib.sh, with a pip-audit that says what a test wants."""
ANSWERS = """echo '{"dependencies": [{"name": "packaging", "version": "24.0", "vulns": []}]}'"""
HAS_HOLE = """echo '{"dependencies": [{"vulns": [{"id": "X"}]}]}'; return 1"""


def unknown(name: str) -> str:
    return f"echo '{NOT_FOUND % (name, name)}' >&2; return 1"


CASES = {
    "clean": (ANSWERS, "true", 0, ""),
    "silent": (unknown("packaging"), "true", 1, "does not answer from here"),
    "away": ("echo 'ConnectionError: no route' >&2; return 1", "true", 1, "ConnectionError: no route"),
    "unknown": (ANSWERS, unknown("aiodns"), 1, "does not know the version in the line above"),
    "vulnerable": (ANSWERS, "echo 'aiohttp 3.0 GHSA-x'; return 1", 1, "name known vulnerabilities"),
    "known has a hole": (HAS_HOLE, "true", 0, ""),
}


@pytest.mark.parametrize("case", CASES)
def test_an_audit_says_what_it_found_or_why_it_could_not_look(tmp_path: Path, case: str) -> None:
    known, wanted, code, said = CASES[case]
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    shutil.copy(AUDIT, scripts / "audit")
    (scripts / "lib.sh").write_text(LIBRARY)
    (tmp_path / "known.sh").write_text(known)
    (tmp_path / "wanted.sh").write_text(wanted)
    (tmp_path / "constraints.txt").write_text("aiodns==4.0.4\n")
    ended = subprocess.run(["bash", scripts / "audit"], capture_output=True, text=True, check=False)
    assert (ended.returncode, said in ended.stderr) == (code, True), ended.stderr
    assert ("cadenza: " in ended.stderr) is bool(code)
