"""Model files: what exists, where it comes from, and whether it is what it should be."""
