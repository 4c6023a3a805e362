"""Sentence negatives: captions spoilt as a whole."""
