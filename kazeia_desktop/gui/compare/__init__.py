"""The parts of the page that compares two voices."""
