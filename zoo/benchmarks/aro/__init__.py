"""ARO: its relations and attributes, and its order sets."""
