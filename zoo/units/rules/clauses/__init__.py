"""Builds relations (who does what to whom, and who is where) from the phrases of a caption."""
