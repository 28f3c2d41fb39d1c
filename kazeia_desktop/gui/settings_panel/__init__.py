"""The settings panel, generated from `settings.schema`."""
