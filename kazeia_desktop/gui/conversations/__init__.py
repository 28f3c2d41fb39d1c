"""Along the left: the kept conversations, what is kept at all, and the note about the user."""
