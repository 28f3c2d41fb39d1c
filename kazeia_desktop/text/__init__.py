"""Between the model's text and the voice: thoughts out, clauses cut, numbers and signs in words."""
