from .backbone import Backbone as Backbone
from .lora import LoRA as LoRA
from .settings import Augmentation as Augmentation
from .settings import Compute as Compute
from .settings import TextInput as TextInput
from .settings import Tuning as Tuning
