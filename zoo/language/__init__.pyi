from .tagger import SpacyTagger as SpacyTagger
from .tagger import Tagger as Tagger
from .tagger import TextBlobTagger as TextBlobTagger
from .tagger import Token as Token
from .wordnet import WordNet as WordNet
