"""Pages as tests read them."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "br", "img", "link", "input", "hr", "source", "area", "base", "col", "embed", "wbr"}
NAMESPACE = "http://www.w3.org/2000/svg"


class Page(HTMLParser):
    """What is on a page; raises if elements do not nest."""

    def __init__(self, text):
        super().__init__()
        self.source = text
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self._open: list[str] = []
        self._texts: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []
        self.text = " ".join(" ".join(self._texts).split())

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self._open.pop() == tag

    def handle_data(self, data):
        if self._open[-1:] != ["style"]:
            self._texts.append(data)

    def check_titles(self, *titles):
        assert [title for title in titles if f"<figcaption>{title}</figcaption>" not in self.source] == []


def check_nothing_has_to_be_loaded(page):
    names = {name for name, _ in page.attributes}
    assert not names & {"src", "href", "xlink:href", "srcset", "data", "action", "background", "poster"}
    assert not set(page.tags) & {"script", "link", "img", "iframe", "object", "embed", "image", "use", "base"}
    assert not [name for name in names if name.startswith("on")]
    rest = page.source.replace(f'xmlns="{NAMESPACE}"', "")
    for trace in ("http:", "https:", "url(", "@import", "//"):
        assert trace not in rest
