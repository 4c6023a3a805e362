"""Hooks of the site: what pages link to outside docs/ gets pages of its own under `source/`.

Pages lead to code and results by their paths in the repository. The site carries those files
along, so that every link holds wherever the site lies and needs no address of the repository.
"""

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
SOURCE = "source/"
LANGUAGES = {".py": "python", ".yaml": "yaml", ".toml": "toml", ".json": "json", ".jsonl": "json"}
LINK = re.compile(r"(?<=\]\()([^)#\s:]+)(?=[)#])")
MARK = re.compile(r"^(```\w+) \w+$", re.MULTILINE)  # says what the tests do with a block


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the files outside docs/ that pages link to, and those that these link to."""
    pages = [file for file in files if file.is_documentation_page()]
    added: dict[str, File] = {}
    while pages:
        page = pages.pop()
        for target in _outside(page):
            if target not in added:
                added[target] = _carried(target, config)
                files.append(added[target])
                if target.endswith(".md"):
                    pages.append(added[target])
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Leads the page's links to where their targets are in the site."""
    if _is_listing(page.file):
        return markdown
    here = posixpath.dirname(page.file.src_uri)

    def led(link: re.Match[str]) -> str:
        return posixpath.relpath(_in_site(_target(page.file, link[0])), here or ".")

    return LINK.sub(led, MARK.sub(r"\1", markdown))


def _outside(page: File) -> list[str]:
    """Returns the files outside docs/ that a page links to, by their paths in the repository."""
    targets = [_target(page, link) for link in LINK.findall(page.content_string)]
    return [t for t in targets if not t.startswith("docs/") and (ROOT / t).is_file()]


def _target(page: File, link: str) -> str:
    """Returns what a page links to, by its path in the repository."""
    own = page.src_uri
    place = own.removeprefix(SOURCE) if own.startswith(SOURCE) else f"docs/{own}"
    return posixpath.normpath(posixpath.join(posixpath.dirname(place), link))


def _in_site(target: str) -> str:
    if target.startswith("docs/"):
        return target.removeprefix("docs/")
    return SOURCE + target + (".md" if Path(target).suffix in LANGUAGES else "")


def _carried(target: str, config: MkDocsConfig) -> File:
    file = ROOT / target
    if file.suffix not in LANGUAGES:
        return File.generated(config, _in_site(target), content=file.read_bytes())
    listing = f"~~~~{LANGUAGES[file.suffix]}\n{file.read_text('utf-8').rstrip()}\n~~~~\n"
    return File.generated(config, _in_site(target), content=f"# {target}\n\n{listing}")


def _is_listing(page: File) -> bool:
    name = page.src_uri.removesuffix(".md")
    return page.src_uri.startswith(SOURCE) and Path(name).suffix in LANGUAGES
