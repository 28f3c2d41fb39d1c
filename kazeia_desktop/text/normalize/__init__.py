"""The steps of the normaliser, one module a topic. Each takes text and a language and returns text."""
