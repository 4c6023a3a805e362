"""Foils by rule: minimal false edits of noun phrases and relations.

They follow CS-CLIP, Appendix B.4 and B.5.
"""
