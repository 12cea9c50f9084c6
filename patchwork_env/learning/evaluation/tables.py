"""Tables in one style, as text for a terminal, Markdown, LaTeX or CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from patchwork_env.core.names import aligned

TEXT, MARKDOWN, LATEX, CSV = "text", "markdown", "latex", "csv"
FORMATS = (TEXT, MARKDOWN, LATEX, CSV)
FIGURE_FORMATS = ("svg", "png", "pdf")

_LATEX_SPECIALS = str.maketrans(
    {character: rf"\{character}" for character in "&%$#_{}"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}
)


class Column(NamedTuple):
    """A column of a table."""

    title: str  # its heading
    show: Callable[[Any], str] | None = str  # converts a value that is not None to a str; None: only in CSV
    ends: tuple[str, str] | None = None  # headings of the two columns of intervals in CSV


def interval_column(title: str, show: Callable[[Any], str]) -> Column:
    """Return a column for the 95% interval of a figure."""
    return Column("95% interval", show, (f"{title}, lower end", f"{title}, upper end"))


def interval_columns(title: str, form: str) -> list[Column]:
    """Return a column for a figure and one for its 95% interval; ``form`` is the format of a value."""
    show = form.format
    return [Column(title, show), interval_column(title, lambda interval: " to ".join(map(show, interval)))]


class Table(NamedTuple):
    """A table with a heading row; the first column and those of text are flush left, others flush right."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]

    def cells(self) -> list[list[str]]:
        """Return the headings and all rows as text."""
        rows = [
            [
                "" if value is None else column.show(value)
                for column, value in zip(self.columns, row, strict=True)
                if column.show
            ]
            for row in self.rows
        ]
        return [[column.title for column in self.columns if column.show], *rows]

    def left(self) -> list[int]:
        """Return the indices of the columns of :meth:`cells` that are flush left."""
        shown = [number for number, column in enumerate(self.columns) if column.show]
        texts = {number for row in self.rows for number in shown if isinstance(row[number], str)}
        return [place for place, number in enumerate(shown) if place == 0 or number in texts]

    def lines(self) -> list[str]:
        """Return the table as lines of text."""
        return aligned(self.cells(), self.left())

    def csv(self) -> str:
        """Return the table as CSV, with values in full precision and intervals in two columns."""
        headings: list[str] = []
        for column in self.columns:
            headings += column.ends or (column.title,)
        rows: list[list[Any]] = []
        for row in self.rows:
            rows.append([])
            for column, value in zip(self.columns, row, strict=True):
                rows[-1] += [value] if column.ends is None else (None, None) if value is None else value
        return csv_text([headings, *rows])


def render(parts: Sequence[str | Table], form: str = TEXT) -> str:
    """Write paragraphs and tables in one of :data:`FORMATS`, without a line break at the end.

    CSV has only the first table. In LaTeX, paragraphs are comments, and tables need the package ``booktabs``.
    """
    if form == CSV:
        return next(part for part in parts if isinstance(part, Table)).csv().rstrip("\n")
    if form == LATEX:
        return "\n\n".join(map(_as_latex, parts))
    write = _as_markdown if form == MARKDOWN else lambda table: "\n".join(table.lines())
    return "\n\n".join(part if isinstance(part, str) else write(part) for part in parts)


def csv_text(rows: Sequence[Sequence[Any]]) -> str:
    """Return rows of values as CSV; None is an empty cell."""
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue()


def _as_markdown(table: Table) -> str:
    heading, *rows = [[cell.replace("|", r"\|") for cell in row] for row in table.cells()]
    left = table.left()
    ruler = ["---" if number in left else "---:" for number in range(len(heading))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (heading, ruler, *rows))


def _as_latex(part: str | Table) -> str:
    if isinstance(part, str):
        return "\n".join(f"% {line}".rstrip() for line in part.splitlines())
    heading, *rows = [
        " & ".join(cell.translate(_LATEX_SPECIALS) for cell in row) + r" \\" for row in part.cells()
    ]
    left = part.left()
    columns = "".join("l" if place in left else "r" for place in range(len(part.cells()[0])))
    begin, end = rf"\begin{{tabular}}{{{columns}}}", r"\end{tabular}"
    return "\n".join([begin, r"\toprule", heading, r"\midrule", *rows, r"\bottomrule", end])


def labels(texts: Sequence[str]) -> list[str]:
    """Return short names for tables and plots: the fewest last parts of each path that differ."""
    parts = [text.rstrip("/").split("/") for text in texts]
    short = []
    for mine in parts:
        length = 1
        while sum(other[-length:] == mine[-length:] for other in parts) > 1 and length < len(mine):
            length += 1
        short.append("/".join(mine[-length:]))
    return short
