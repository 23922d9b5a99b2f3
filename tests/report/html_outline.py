"""HTML as a checker sees it."""

from html.parser import HTMLParser
from typing import Any

_VOID = {"meta", "link", "br", "img", "input", "hr", "wbr"}


class Outline(HTMLParser):
    """The tags of a page; fails on elements that are not closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        assert len({name for name, _ in attrs}) == len(attrs)
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def check_page(page: str) -> Outline:
    """Fail unless a page is well-formed, loads and runs nothing, and suits phones and paper."""
    found = Outline(page)
    assert not {"script", "iframe", "object", "img"} & {tag for tag, _ in found.tags}
    links = [attrs.get(key) for _, attrs in found.tags for key in ("href", "src")]
    assert all(link is None or link.startswith(("#", "data:,")) for link in links)
    assert not any(key.startswith("on") for _, attrs in found.tags for key in attrs)
    assert "url(" not in page
    assert "@import" not in page
    for part in ('name="viewport"', "prefers-color-scheme: dark", "@media print", "size: A4"):
        assert part in page
    return found
