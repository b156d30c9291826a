"""The reference for people is what the table says now."""

from pathlib import Path

from cadenza.surfaces.http.documents.reference import text

REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "rest.md"


def test_the_reference_is_up_to_date() -> None:
    command = ".venv/bin/python -m cadenza.surfaces.http.documents.reference > docs/reference/rest.md"
    assert REFERENCE.read_text() == text(), f"write it anew: {command}"
