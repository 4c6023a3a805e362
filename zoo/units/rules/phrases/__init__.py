"""Groups the tagged words of a caption into noun phrases, verb groups and prepositions."""
