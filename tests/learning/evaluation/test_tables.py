"""Tables as text, Markdown, LaTeX and CSV."""

import csv
import io

from patchwork_env.core.names import aligned
from patchwork_env.learning.commands import evaluate
from patchwork_env.learning.evaluation.matches import play_matches
from patchwork_env.learning.evaluation.tables import CSV, LATEX, MARKDOWN, Column, Table, render

TABLE = Table(
    [
        Column("agent"),
        Column("wins", "{:.1%}".format),
        Column("interval", lambda ends: f"{ends[0]} to {ends[1]}", ("low", "high")),
    ],
    [["my_agent|x", 0.5, (0, 1)], ["other", None, (0, None)]],
)


def test_text_has_the_first_column_flush_left():
    lines = ["heading", "", "agent        wins   interval", "my_agent|x  50.0%     0 to 1"]
    assert render(["heading", TABLE]).splitlines() == [*lines, "other              0 to None"]
    assert aligned([["a", "b", "c"], ["aa", "bb", "cc"]], left=(0, 2)) == ["a    b  c", "aa  bb  cc"]


IN_MARKDOWN = r"""heading

| agent | wins | interval |
| --- | ---: | ---: |
| my_agent\|x | 50.0% | 0 to 1 |
| other |  | 0 to None |"""
IN_LATEX = r"""% heading

\begin{tabular}{lrr}
\toprule
agent & wins & interval \\
\midrule
my\_agent|x & 50.0\% & 0 to 1 \\
other &  & 0 to None \\
\bottomrule
\end{tabular}"""


def test_markdown_and_latex_escape_what_means_something_there():
    assert render(["heading", TABLE], MARKDOWN) == IN_MARKDOWN
    assert render(["heading", TABLE], LATEX) == IN_LATEX


def test_columns_of_text_are_flush_left_in_every_format():
    hidden = Column("hidden", None)
    columns = [Column("agent"), hidden, Column("wins"), Column("against"), Column("nothing")]
    table = Table(columns, [["a", "x", 0.25, "random", None], ["b", "x", None, "uct", None]])
    assert render([table]).splitlines()[2] == "b            uct"
    assert render([table], MARKDOWN).splitlines()[1] == "| --- | ---: | --- | ---: |"
    assert render([table], LATEX).startswith(r"\begin{tabular}{lrlr}")


def test_csv_is_the_first_table_in_full_precision():
    rows = list(csv.DictReader(io.StringIO(render(["heading", TABLE, TABLE], CSV))))
    assert rows == [
        {"agent": "my_agent|x", "wins": "0.5", "low": "0", "high": "1"},
        {"agent": "other", "wins": "", "low": "0", "high": ""},
    ]


def test_commands_print_tables_in_all_formats(capsys):
    arguments = ["greedy", "--against", "random"]
    for form, sign in ((LATEX, r"\end{tabular}"), (MARKDOWN, "| --- |")):
        assert evaluate.main([*arguments, "--games", "20", "--format", form]) == 0
        assert sign in capsys.readouterr().out
    assert evaluate.main([*arguments, "--format", CSV]) == 0
    [row] = csv.DictReader(io.StringIO(capsys.readouterr().out))
    result = play_matches("greedy", "random", 400)
    assert (row["agent"], row["against"], row["games"]) == ("greedy", "random", "400")
    assert float(row["wins"]) == result.win_rate
    assert (float(row["wins, lower end"]), float(row["wins, upper end"])) == result.interval
    assert float(row["score difference"]) == result.score_difference
