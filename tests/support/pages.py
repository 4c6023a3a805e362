"""How a page is looked at in a browser."""

from pathlib import Path
from types import SimpleNamespace

# images come with the cards that a script lays out, so each look asks for those that came since
SHOWN = """[...document.images].map(
  (image) => (image.loading = "eager") && image.complete && image.naturalWidth > 0
).every(Boolean)"""


def check_page(browser: SimpleNamespace, path: Path) -> list[list[str]]:
    """Opens a page on a narrow screen, in light and in dark.

    Fails where it asks for other files, says a fault, shows an image badly or is too wide.

    Returns:
        The colours of paper and ink in either.
    """
    colours = []
    for scheme in ("light", "dark"):
        tab = browser.new_context(color_scheme=scheme, viewport={"width": 420, "height": 800})
        view, faults = tab.new_page(), []
        view.on("console", lambda message, into=faults: into.append(message.text))
        view.on("pageerror", lambda error, into=faults: into.append(str(error)))
        view.on(
            "request",
            lambda asked, into=faults: (
                into.append(asked.url) if not asked.url.startswith(("file:", "data:")) else None
            ),
        )
        view.goto(path.as_uri())
        view.wait_for_function(SHOWN)
        assert view.evaluate("document.documentElement.scrollWidth <= innerWidth")
        style = "getComputedStyle(document.body)"
        colours.append(view.evaluate(f"[{style}.backgroundColor, {style}.color]"))
        for drawn in view.query_selector_all("svg text")[:1]:
            assert drawn.evaluate("e => getComputedStyle(e).fill") == colours[-1][1]
        assert faults == []
    assert colours[0] != colours[1]
    return colours
