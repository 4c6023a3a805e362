"""From the tagged words of a caption to its phrases: noun phrases, verb groups, prepositions."""
