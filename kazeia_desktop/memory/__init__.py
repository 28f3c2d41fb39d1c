"""What is kept between conversations, on this machine only: what was said, the model's state, a note of facts."""
