"""From the phrases of a caption to its relations: who does what to whom, and who is where."""
