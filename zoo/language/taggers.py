"""The default tagger, and the tagger named in a file."""

import logging
from functools import cache
from importlib.util import find_spec

from zoo.errors import ZooError
from zoo.language.spacy_tagger import SPACY_MODEL, SpacyTagger
from zoo.language.tagger import Tagger
from zoo.language.textblob_tagger import TextBlobTagger

log = logging.getLogger(__name__)


@cache
def default_tagger() -> Tagger:
    """Returns spaCy's tagger if it and its English pipeline are installed, otherwise TextBlob's.

    The choice is logged once per process, since it depends on what is installed.
    """
    spacy = find_spec("spacy") and find_spec(SPACY_MODEL)
    tagger = SpacyTagger() if spacy else TextBlobTagger()
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
