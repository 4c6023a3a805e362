from .base import PositiveGenerator as PositiveGenerator
from .other_caption import OtherCaption as OtherCaption
from .paraphrases import Paraphrases as Paraphrases
from .sub_captions import SubCaptions as SubCaptions
