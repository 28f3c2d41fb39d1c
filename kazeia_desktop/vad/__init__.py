"""Deciding when somebody speaks: a cheap gate, an exact scorer, and the rules of endpointing."""
