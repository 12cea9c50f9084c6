"""Adds to pages: descriptions, words to search for, pages of code, notebooks to download."""

from __future__ import annotations

import html
import json
import re
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from docutils import nodes
from sphinx import addnodes

PROJECT = Path(__file__).parents[1]
CODE = re.compile(r"\]\((?:\.\./)*((?!docs/)[\w./-]+\.(?:py|js|cff))\)")
"""A link of a page to code, which the site shows on a page of its own."""
LINK = re.compile(r"\[([^]]*)\]\(((?![a-z]+:)[^()\s]+)\)")
"""A link of a tutorial to another page."""
DOWNLOAD = re.compile(r" *\*\*To run it yourself:\*\* {nb-download}`[^`]*`\.")
"""The line of a tutorial that its notebook leaves out."""
NOT_LISTED = re.compile(r"404|reference/source/")
INSTALL = """\
# Once, if the package is not installed, with the path of a clone:
# %pip install "path/to/clone[train]" matplotlib"""


def write_code_pages(app: Any) -> None:
    """Writes a page for each file of code that pages link to."""
    folder = Path(app.srcdir)
    texts = [path.read_text("utf-8") for path in (*folder.rglob("*.md"), *PROJECT.glob("*.md"))]
    for name in sorted({name for text in texts for name in CODE.findall(text)}):
        page = folder / "reference" / "source" / f"{name}.md"
        up, language = "../" * (name.count("/") + 3), {"py": "python", "js": "js"}.get(name[-2:], "yaml")
        text = f"# {name}\n\n```{{literalinclude}} {up}{name}\n:language: {language}\n```\n"
        page.parent.mkdir(parents=True, exist_ok=True)
        if not page.exists() or page.read_text("utf-8") != text:
            page.write_text(f"---\norphan: true\nnosearch: true\n---\n\n{text}", "utf-8")


def link_code_pages(_app: Any, name: str, source: list[str]) -> None:
    """Leads links to code to those pages, instead of to downloads."""
    up = "../" * name.count("/")
    source[0] = CODE.sub(lambda link: f"]({up}reference/source/{link[1]}.md)", source[0])


def add_search_words(app: Any, document: nodes.document) -> None:
    """Makes the words of ``search_words`` lead to a page first."""
    words = app.config.search_words.get(app.env.docname, ())
    document.insert(0, addnodes.index(entries=[("single", word, "", "main", None) for word in words]))


def describe(app: Any, name: str, _template: str, context: dict[str, Any], document: Any) -> None:
    """Gives a page its first paragraph as description, and that of missing pages links that hold anywhere."""
    paragraphs = document.findall(nodes.paragraph) if document else ()
    texts = (part.astext() for part in paragraphs if isinstance(part.parent, nodes.section))
    text = " ".join(next(texts, f"{context.get('title', 'Search')}, of patchwork_env").split())
    short = text if len(text) <= 160 else f"{text[:160].rpartition(' ')[0]} …"
    tags = [f'<meta name="description" content="{html.escape(short)}">']
    if name == "404":
        tags.append(f'<base href="{html.escape(app.config.html_baseurl or "/")}">')
    context["metatags"] = "\n".join([context.get("metatags", ""), *tags])


def write_sitemap(app: Any, error: Exception | None) -> None:
    """Lists all pages for search engines, where the address of the site is known."""
    if error is None and app.config.html_baseurl:
        pages = (page for page in sorted(app.env.found_docs) if not NOT_LISTED.match(page))
        urls = "".join(f"<url><loc>{app.config.html_baseurl}{page}.html</loc></url>\n" for page in pages)
        head = '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
        Path(app.outdir, "sitemap.xml").write_text(f"{head}\n{urls}</urlset>\n", "utf-8")


def finish_notebooks(app: Any, error: Exception | None) -> None:
    """Makes the notebooks to download stand alone: a line to install, and no links that lead nowhere."""
    for path in Path(app.outdir, "_downloads").glob("*/*.ipynb") if error is None else ():
        page = app.config.html_baseurl and f"{app.config.html_baseurl}tutorials/{path.stem}.html"
        notebook = json.loads(path.read_text("utf-8"))
        for cell in notebook["cells"]:
            if cell["cell_type"] == "markdown":
                text = DOWNLOAD.sub("", "".join(cell["source"]))
                cell["source"] = LINK.sub(partial(standing_alone, page=page), text)
        if notebook["cells"][0].get("id") != "install":
            code = {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": []}
            notebook["cells"].insert(0, {**code, "id": "install", "source": INSTALL})
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False), "utf-8")


def standing_alone(link: re.Match[str], page: str) -> str:
    """A link of a page by the address of the site, or its words if that is not known."""
    return f"[{link[1]}]({urljoin(page, link[2].replace('.md', '.html'))})" if page else link[1]


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_config_value("search_words", {}, "env")
    app.connect("builder-inited", write_code_pages)
    app.connect("source-read", link_code_pages, priority=900)  # after the files of the root are included
    app.connect("doctree-read", add_search_words)
    app.connect("html-page-context", describe)
    app.connect("build-finished", write_sitemap)
    app.connect("build-finished", finish_notebooks)
    return {"parallel_read_safe": True}
