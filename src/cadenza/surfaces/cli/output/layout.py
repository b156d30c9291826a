"""Lines, cards and tables as plain text of a given width; no line is broken inside a word."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple
from unicodedata import combining, east_asian_width

GAP = "  "
INDENT = "    "
NARROWEST_PROSE = 16
"""A column of words is made no narrower than this; it then stands below the row."""
CODES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "cyan": "36",
    "bold red": "1;31",
}
STATUS_STYLES = {
    **dict.fromkeys(("success", "ok", "passed", "resolved", "recovered"), "green"),
    **dict.fromkeys(("failure", "failed", "timeout", "abandoned", "breached", "raised", "firing"), "red"),
    **dict.fromkeys(("missed", "refused", "used up"), "red"),
    **dict.fromkeys(("paused", "job paused", "skipped", "cancelled", "disabled", "retired"), "yellow"),
    **dict.fromkeys(("quota used up", "suspect", "silenced", "acknowledged", "warning"), "yellow"),
    **dict.fromkeys(("running", "cancelling"), "cyan"),
}


class Screen(NamedTuple):
    """What the output can show."""

    width: int
    coloured: bool = False
    rule: str = "─"

    def paint(self, text: str, style: str) -> str:
        """A text in a style, if there are colours."""
        return f"\x1b[{CODES[style]}m{text}\x1b[0m" if self.coloured and style and text else text


def status_style(word: str) -> str:
    """The style of a status; none for other words."""
    return STATUS_STYLES.get(word.lower(), "")


class Paragraph(NamedTuple):
    """A text of one or more lines."""

    text: str
    style: str = ""

    def lines(self, screen: Screen) -> Iterator[str]:
        """Its lines, wrapped between words."""
        for line in wrapped(self.text, screen.width):
            yield screen.paint(line, self.style)


class Card(NamedTuple):
    """Facts by name, one below the other."""

    facts: Sequence[tuple[str, Paragraph]]

    def lines(self, screen: Screen) -> Iterator[str]:
        """Each fact beside its name."""
        names = max((width_of(name) for name, _ in self.facts), default=0)
        for name, fact in self.facts:
            inside = screen._replace(width=screen.width - names - len(GAP))
            for number, line in enumerate(fact.lines(inside)):
                before = "" if number else name
                yield screen.paint(before, "bold") + " " * (names - width_of(before)) + GAP + line


class Cell(NamedTuple):
    """A cell of a table; `status` is coloured by its word."""

    text: str
    status: bool = False

    @property
    def style(self) -> str:
        """The style of a status; none for other cells."""
        return status_style(self.text) if self.status else ""


class Heading(NamedTuple):
    """The title of a column, how it is aligned, and whether its cells are never wrapped."""

    title: str
    right: bool = False
    whole: bool = False


class Table(NamedTuple):
    """Rows under headings.

    Columns that do not fit stand below their row, with their titles, the last columns first. The first
    column always stays.
    """

    headings: Sequence[Heading]
    rows: Sequence[Sequence[Cell]]

    def lines(self, screen: Screen) -> Iterator[str]:
        """The headings, a rule, and the rows."""
        shown = self._shown(screen.width)
        widths = self._widths(shown, screen.width)
        titles = [Cell(heading.title) for heading in self.headings[:shown]]
        yield from self._row(titles, widths, screen._replace(coloured=False))
        yield screen.rule * (sum(widths) + len(GAP) * (shown - 1))
        for row in self.rows:
            yield from self._row(row[:shown], widths, screen)
            yield from self._below(row[shown:], shown, screen)

    def _shown(self, width: int) -> int:
        """How many columns fit side by side."""
        least = [self._least(place) for place in range(len(self.headings))]
        for count in range(len(least), 1, -1):
            if sum(least[:count]) + len(GAP) * (count - 1) <= width:
                return count
        return 1

    def _texts(self, place: int) -> list[str]:
        return [self.headings[place].title, *(row[place].text for row in self.rows)]

    def _natural(self, place: int) -> int:
        return max(width_of(line) for text in self._texts(place) for line in text.split("\n"))

    def _least(self, place: int) -> int:
        natural, heading = self._natural(place), self.headings[place]
        if heading.right or heading.whole:
            return natural
        longest = max(width_of(word) for text in self._texts(place) for word in text.split() or [""])
        return max(longest, min(natural, NARROWEST_PROSE))

    def _widths(self, shown: int, width: int) -> list[int]:
        """Widths between the least and the natural ones; what is left goes to the first that need it."""
        widths = [self._least(place) for place in range(shown)]
        left = width - sum(widths) - len(GAP) * (shown - 1)
        for place in range(shown):
            more = max(0, min(left, self._natural(place) - widths[place]))
            widths[place] += more
            left -= more
        return widths

    def _row(self, cells: Sequence[Cell], widths: Sequence[int], screen: Screen) -> Iterator[str]:
        parts = [wrapped(cell.text, width) for cell, width in zip(cells, widths, strict=True)]
        for number in range(max(map(len, parts))):
            yield GAP.join(
                self._aligned(place, part[number] if number < len(part) else "", cells[place], widths, screen)
                for place, part in enumerate(parts)
            ).rstrip()

    def _aligned(self, place: int, text: str, cell: Cell, widths: Sequence[int], screen: Screen) -> str:
        space = " " * (widths[place] - width_of(text))
        painted = screen.paint(text, cell.style)
        return space + painted if self.headings[place].right else painted + space

    def _below(self, cells: Sequence[Cell], begin: int, screen: Screen) -> Iterator[str]:
        for heading, cell in zip(self.headings[begin:], cells, strict=True):
            if cell.text == "-":
                continue
            title = f"{heading.title}: " if heading.title else ""
            if cell.style:
                yield INDENT + title + screen.paint(cell.text, cell.style)
                continue
            for line in wrapped(title + cell.text, screen.width - len(INDENT)):
                yield INDENT + line


def width_of(text: str) -> int:
    """How many places a text takes on a terminal: wide characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(one) in "WF" else 1 for one in text if not combining(one))


def wrapped(text: str, width: int) -> list[str]:
    """A text in lines of at most a width, broken between words; a longer word has a line of its own."""
    return [line for part in text.split("\n") for line in _wrapped_line(part, width)]


def _wrapped_line(line: str, width: int) -> Iterator[str]:
    if width_of(line) <= width:
        yield line
        return
    begin = line[: len(line) - len(line.lstrip())]
    found = begin
    for word in line.split():
        if found.strip() and width_of(found) + 1 + width_of(word) > width:
            yield found
            found = begin
        found = f"{found} {word}" if found.strip() else f"{found}{word}"
    yield found
