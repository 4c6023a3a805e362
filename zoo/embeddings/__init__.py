"""Embeddings: stores vectors of images and texts on disk."""
