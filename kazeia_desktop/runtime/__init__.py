"""Threads and what joins them: channels, cancel tokens, workers."""
