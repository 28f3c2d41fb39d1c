"""Text to speech: the light voice, the system's voice, and the place where Kazeia's own will stand."""
