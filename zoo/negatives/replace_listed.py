"""ReplaceListed: a word of a list becomes another one of the list (TSVLC's negatives by rule)."""

import re
from pathlib import Path
from random import Random

from zoo.errors import ZooError
from zoo.language.text import correct_article, equal_when_normalized, match_case
from zoo.negatives.base import NegativeGenerator
from zoo.units.record import UnitRecord
from zoo.units.rules import words
from zoo.units.rules.lexicon import parse_word_sets, same_meaning


class ReplaceListed(NegativeGenerator):
    """The caption with one word replaced by another of the same list, such as another colour.

    First, a list with a word in the caption is drawn, then one of these words. Its replacement is
    drawn from the words of the list that are not in the caption. Synonyms (by the package's lists)
    do not replace each other.

    Args:
        file: A text file with one list of words per line. `_` means a space within a word. Lines
            that begin with `#` are comments. By default, zoo's lists are used: colours, materials,
            patterns, sizes, states and other attributes.

    Raises:
        ZooError: The file cannot be read, or a line is a single word.

    Examples:
        The only listed word is the colour:

        >>> from random import Random
        >>> from zoo.negatives import ReplaceListed
        >>> ReplaceListed().negative("a red cup on a table", Random(0))
        'a black cup on a table'
    """

    name = "replace_listed"

    def __init__(self, file: Path | None = None) -> None:
        self.file = None if file is None else Path(file)
        lists = parse_word_sets(words.ATTRIBUTES if self.file is None else _read_lists(self.file))
        self._lists = [(listed, _pattern(listed)) for listed in lists]

    def describe(self) -> dict[str, str]:
        """Returns the description of the generator, with its file."""
        return super().describe() | ({} if self.file is None else {"file": str(self.file)})

    def negative(self, caption: str, rng: Random, record: UnitRecord | None = None) -> str | None:
        """Returns the caption with one word replaced, or None if it has no listed word."""
        choices = []
        for listed, pattern in self._lists:
            places = list(pattern.finditer(caption))
            present = {place.group().lower() for place in places}
            others = {
                place: [w for w in listed if w not in present and not same_meaning(w, place[0])]
                for place in places
            }
            if any(others.values()):
                choices.append({place: options for place, options in others.items() if options})
        if not choices:
            return None
        others = rng.choice(choices)
        place = rng.choice(list(others))
        new = match_case(rng.choice(others[place]), place.group())
        negative = correct_article(
            caption[: place.start()] + new + caption[place.end() :], place.start()
        )
        return None if equal_when_normalized(negative, caption) else negative


def _pattern(listed: tuple[str, ...]) -> re.Pattern[str]:
    """Returns a pattern that finds whole words of a list, the longest first."""
    longest_first = sorted(map(re.escape, listed), key=len, reverse=True)
    return re.compile(rf"(?<![\w-])(?:{'|'.join(longest_first)})(?![\w-])", re.IGNORECASE)


def _read_lists(file: Path) -> str:
    """Returns the lines of a file of lists, in lower case and without comments.

    Raises:
        ZooError: The file cannot be read, or a line is a single word.
    """
    try:
        lines = file.read_text("utf-8").lower().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ZooError(f"{file} cannot be read ({error}): give a text file of lists") from error
    lists = [line for line in lines if line.strip() and not line.startswith("#")]
    single = next((line for line in lists if len(line.split()) < 2), None)
    if single is not None or not lists:
        raise ZooError(
            f"{file} has {f'the line {single.strip()!r}' if single else 'no list'}: give at least "
            "two words per line, of which one can replace the other"
        )
    return "\n".join(lists)
