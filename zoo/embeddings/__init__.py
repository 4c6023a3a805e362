"""Embeddings on disk: one format of files, one bound on their size, one lock."""
