"""Units by language model: prompts in three stages, their answers, and a journal of them."""
