from .devices import Device as Device
from .step import Step as Step
from .towers import TowerCost as TowerCost
