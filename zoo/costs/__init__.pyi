from .devices import Device as Device
from .step import Step as Step
from .towers import Tower as Tower
