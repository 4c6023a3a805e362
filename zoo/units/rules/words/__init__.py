"""Word lists of the rule-based extractor, one text file each.

`words.BEINGS` is the text of `beings.txt`. The lists were written for this project, for captions
of everyday images. `;` or the end of a line ends a set, `_` is a space, and `#` begins a comment.
At most one word of a set of beings, vehicles, things or attributes is true, so that the others are
foils. `~` marks a word that has foils but is not used as a foil.
"""

from importlib.resources import files


def __getattr__(name: str) -> str:
    file = files(__name__) / f"{name.lower()}.txt"
    if not name.isupper() or not file.is_file():
        raise AttributeError(f"module {__name__!r} has no word list {name!r}")
    lines = file.read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if not line.startswith("#"))
