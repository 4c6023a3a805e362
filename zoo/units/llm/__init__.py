"""Units by language model: three stages of questions, their answers, and what is kept of them."""
