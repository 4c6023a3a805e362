"""Presets: YAML files that define right answers and means of metrics."""
