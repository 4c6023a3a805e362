from .zoo_module import ZooModule as ZooModule
