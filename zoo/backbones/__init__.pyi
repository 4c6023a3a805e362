from .backbone import Backbone as Backbone
