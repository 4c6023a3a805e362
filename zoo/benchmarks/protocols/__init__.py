"""Protocols, one module each: they turn the scores of a case into outcomes."""
