"""Kazeia's own voice from the published Qwen3-TTS files: one directory that its engine opens.

`convert.convert` reads the official checkpoint or llama.cpp's pair of files; `random_model` makes a
checkpoint of random weights.
"""
