"""Heads: what turns encoded images and encoded texts into scores."""
