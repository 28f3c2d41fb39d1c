"""What can be tuned: the schema, and the file it lives in."""
