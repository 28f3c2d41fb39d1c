"""The language model and its chat session."""
