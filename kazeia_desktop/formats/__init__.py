"""Files that models come in, read as untrusted input: GGUF, safetensors and Kazeia's own manifest."""
