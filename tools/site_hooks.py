"""Hooks of the static site: pages from outside of docs/, and nothing from the network.

mkdocs.yml names this module; `make docs` runs it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

PAGES = {"CONTRIBUTING.md": "CONTRIBUTING.md", "CHANGELOG.md": "CHANGELOG.md"}
"""Documents at the top of the repository that are pages of the site."""

MOST_SECTIONS = 60
"""Sections in the table of contents of a page, at most."""

_TO_TOP = re.compile(r"\]\((?:\.\./)+(README|CONTRIBUTING|CHANGELOG)\.md")
_TO_DOCS = re.compile(r"\]\(docs/")
_TO_README = re.compile(r"\]\(README\.md")
_DIAGRAM = re.compile(r'<pre class="mermaid">.*?</pre>', re.DOTALL)
_CDN = re.compile(r'"https://[^"/]+/(?:mermaid@[^"]*|resize-observer-polyfill)"')
_SHIM = re.compile(r'https://[^"/]+/iframe-worker/shim')
_FETCHED = re.compile(
    r"""<(?:script|img|iframe)\b[^>]*\bsrc=["']?(?:https?:)?//[^>]*>"""
    r"""|<link\b(?=[^>]*\brel=["']?(?:stylesheet|preload|preconnect|icon))"""
    r"""[^>]*\bhref=["']?(?:https?:)?//[^>]*>"""
    r"""|@import[^;]*//[^;]*;|url\(["']?(?:https?:)?//[^)]*\)"""
)


def on_files(files: Any, config: Any) -> Any:
    """Add the documents at the top of the repository."""
    from mkdocs.structure.files import File  # type: ignore[import-not-found]

    for name in PAGES:
        files.append(File.generated(config, name, content=(ROOT / name).read_text("utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Point links to and from the documents at the top to their pages."""
    here = posixpath.dirname(page.file.src_uri)
    if page.file.src_uri in PAGES:
        markdown = _TO_README.sub("](index.md", _TO_DOCS.sub("](", markdown))

    def on_site(link: re.Match[str]) -> str:
        page_of = "index.md" if link[1] == "README" else f"{link[1]}.md"
        return f"]({posixpath.relpath(page_of, here or '.')}"

    return _TO_TOP.sub(on_site, markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Put each diagram into a box that scrolls."""
    return _DIAGRAM.sub(r'<div class="diagram">\g<0></div>', html)


def on_page_context(context: Any, page: Any, **_: Any) -> Any:
    """Keep only the chapters in a table of contents of more than `MOST_SECTIONS` sections."""
    chapters = [chapter for title in page.toc for chapter in title.children]
    if sum(len(chapter.children) for chapter in chapters) > MOST_SECTIONS:
        for chapter in chapters:
            chapter.children.clear()
    return context


def on_post_build(config: Any) -> None:
    """Replace what the theme takes from a CDN, and refuse pages that need a network.

    The shim lets the search work where the site is opened as files, without a server.

    Raises:
        PluginError: a page or a style sheet would fetch something from another host.
    """
    from mkdocs.exceptions import PluginError  # type: ignore[import-not-found]

    site = Path(config["site_dir"])
    for script in site.glob("assets/javascripts/bundle.*.js"):
        script.write_text(_CDN.sub('""', script.read_text("utf-8")), encoding="utf-8")
    for page in site.rglob("*.html"):
        top = "../" * (len(page.relative_to(site).parts) - 1)
        text = page.read_text("utf-8")
        page.write_text(_SHIM.sub(f"{top}assets/iframe-worker.js", text), encoding="utf-8")
    found = [
        f"{path.relative_to(site)}: {part}"
        for path in sorted([*site.rglob("*.html"), *site.rglob("*.css")])
        for part in fetched(path.read_text("utf-8"))
    ]
    if found:
        raise PluginError("The site would fetch from the network:\n" + "\n".join(found))


def fetched(text: str) -> Iterator[str]:
    """Yield the parts of a page or style sheet that a browser fetches from another host."""
    return (found[0] for found in _FETCHED.finditer(text))
