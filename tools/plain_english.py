"""Rejects phrases that make readers stumble, in docstrings, comments, messages and pages.

python -m tools.plain_english [FILE …]    # by default all files of the project
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).parents[1]
PHRASES = {  # what to write instead, by pattern; the first one is for first lines of docstrings
    r"\A(?:What|Who|Whose|How|Where|That) \w.*?(?<!\?)\Z": "begin with a noun or a verb",
    r"\b(?:[Ww]hoever|[Ss]omebody|[Nn]obody|[Ee]verybody)\b": "name the user, the caller, the opponent …",
    r"\bthat (?:is|are) none\b": "say what it is not",
    r"\b(?:to no end|hears? of|grudges?|comes? to (?:a|an|the|nothing)|betrays?)\b": "use the plain word",
    r"\bbehind (?:it|them|that|each|one another|the (?:end|last|first))\b": "write after, or past",
}
FIRST_LINE, *ANYWHERE = PHRASES
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.DOTALL | re.MULTILINE)


def texts(path: Path) -> Iterator[tuple[int, str, bool]]:
    """Yield the prose of a file with the number of its line, and whether it is a docstring."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        yield 1, CODE.sub(lambda code: "\n" * code[0].count("\n"), source), False
        return
    nodes = list(ast.walk(ast.parse(source)))
    alone = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value, id(node) in alone
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string, False


def problems(path: Path) -> Iterator[str]:
    """Yield a line for each phrase of a file that is to be written otherwise."""
    for line, text, is_docstring in texts(path):
        for pattern in PHRASES if is_docstring else ANYWHERE:
            for match in re.finditer(pattern, text.partition("\n")[0] if pattern == FIRST_LINE else text):
                place = line + text.count("\n", 0, match.start())
                yield f"{path.relative_to(PROJECT)}:{place}: {match[0][:60]!r}: {PHRASES[pattern]}"


def main() -> int:
    """The command; the exit code is 1 if a phrase was found."""
    command = ["git", "ls-files", "*.py", "*.md", ":!tests", ":!tools/plain_english.py"]
    listed = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True).stdout.split()
    found = [line for name in sys.argv[1:] or listed for line in problems(PROJECT / name)]
    print(*found, sep="\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
