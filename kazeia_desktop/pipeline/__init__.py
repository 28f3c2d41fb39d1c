"""The stages wired into a conversation. Read builder.py first."""
