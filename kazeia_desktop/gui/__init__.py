"""The window: the only place, with app.py, that knows Qt."""
