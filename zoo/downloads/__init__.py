"""Published data sets: which files they have, and downloading them."""
