from .spacy_tagger import SpacyTagger as SpacyTagger
from .tagger import Tagger as Tagger
from .tagger import Token as Token
from .taggers import default_tagger as default_tagger
from .textblob_tagger import TextBlobTagger as TextBlobTagger
from .wordnet import WordNet as WordNet
