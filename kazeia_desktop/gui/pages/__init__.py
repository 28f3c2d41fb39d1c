"""What the window shows in the place of the conversation: one page a concern."""
