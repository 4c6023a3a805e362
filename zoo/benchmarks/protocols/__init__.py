"""Protocols: how the scores of a case become outcomes, one file each."""
