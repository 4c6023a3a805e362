from .cache import render_scenes as render_scenes
from .graph import SceneGraph as SceneGraph
from .graph import SceneObject as SceneObject
