from .base import Preset as Preset
from .file import PresetFile as PresetFile
from .named import preset_of as preset_of
from .shipped import CSCLIPTable11 as CSCLIPTable11
from .shipped import Official as Official
from .shipped import Strict as Strict
from .shipped import VLCompo as VLCompo
