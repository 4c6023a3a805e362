"""Rendered scenes: exact captions, units and foils from a scene graph."""
