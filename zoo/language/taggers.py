"""Which tagger is taken where none is given, and which one a record names."""

from importlib.util import find_spec

from zoo.errors import ZooError
from zoo.language.spacy_tagger import SPACY_MODEL, SpacyTagger
from zoo.language.tagger import Tagger
from zoo.language.textblob_tagger import TextBlobTagger


def default_tagger() -> Tagger:
    """Returns spaCy's where it and its English pipeline are installed, else TextBlob's."""
    spacy = find_spec("spacy") and find_spec(SPACY_MODEL)
    return SpacyTagger() if spacy else TextBlobTagger()


def recorded_tagger(name: str, file: object) -> Tagger:
    """Returns the tagger that made a file.

    Args:
        name: The name that the file has of it.
        file: The file.

    Raises:
        ZooError: This package has no tagger of that name.
    """
    for tagger in (TextBlobTagger, SpacyTagger):
        if tagger.name == name:
            return tagger()
    raise ZooError(
        f"{file} was made with the tagger {name!r}, which is none of zoo's: give that tagger by "
        "its class, as in --generator.tagger my_lab.MyTagger"
    )
