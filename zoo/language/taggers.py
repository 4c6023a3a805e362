"""The default tagger, and the tagger named in a file."""

import logging
from functools import cache

from zoo.errors import ZooError
from zoo.language.spacy_tagger import SpacyTagger
from zoo.language.tagger import Tagger
from zoo.language.textblob_tagger import TextBlobTagger

log = logging.getLogger(__name__)


@cache
def default_tagger() -> Tagger:
    """Returns TextBlob's tagger, which every installation has.

    Other installed packages make no difference: spaCy's tagger is used only where it is named.
    The default is logged once per process.
    """
    tagger = TextBlobTagger()
    log.info("default tagger: %s %s", tagger.name, tagger.version)
    return tagger


def recorded_tagger(name: str, file: object) -> Tagger:
    """Returns the tagger that made a file.

    Args:
        name: The tagger's name in the file.
        file: The file.

    Raises:
        ZooError: This package has no tagger of that name.
    """
    for tagger in (TextBlobTagger, SpacyTagger):
        if tagger.name == name:
            return tagger()
    raise ZooError(
        f"{file} was made with the tagger {name!r}, which zoo does not have: give the class "
        "of the tagger, as in --generator.tagger my_lab.MyTagger"
    )
