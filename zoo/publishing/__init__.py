"""Publishing: a checkpoint as a model for others, its card, and its way to the hub."""
