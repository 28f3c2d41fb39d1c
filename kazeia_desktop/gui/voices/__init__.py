"""The page of voices: what can speak, hearing it, adding one."""
