"""Foils by rule: minimally edited wrong twins of noun phrases and relations.

They follow CS-CLIP, Appendix B.4 and B.5.
"""
