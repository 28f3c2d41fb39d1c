"""Where Kazeia keeps things. KAZEIA_HOME moves every directory at once."""

import os
from dataclasses import dataclass
from pathlib import Path

import platformdirs


@dataclass(frozen=True, slots=True)
class Paths:
    """The directories of one installation; none is created here."""

    config_dir: Path
    data_dir: Path
    cache_dir: Path
    log_dir: Path

    @classmethod
    def from_environment(cls) -> "Paths":
        """The platform's directories, or four folders under KAZEIA_HOME when it is set."""
        home = os.environ.get("KAZEIA_HOME")
        if home:
            root = Path(home).expanduser().absolute()
            return cls(root / "config", root / "data", root / "cache", root / "logs")
        dirs = platformdirs.PlatformDirs("kazeia", appauthor=False)
        return cls(
            Path(dirs.user_config_dir), Path(dirs.user_data_dir), Path(dirs.user_cache_dir), Path(dirs.user_log_dir)
        )

    @property
    def settings_file(self) -> Path:
        return self.config_dir / "settings.toml"

    @property
    def window_file(self) -> Path:
        """Where the window was."""
        return self.config_dir / "window.json"

    @property
    def models_dir(self) -> Path:
        return self.data_dir / "models"

    @property
    def conversations_file(self) -> Path:
        return self.data_dir / "conversations.db"

    @property
    def states_dir(self) -> Path:
        """States of the language model at the end of kept conversations; they can be made again."""
        return self.cache_dir / "states"

    @property
    def facts_file(self) -> Path:
        return self.config_dir / "facts.md"

    @property
    def alarms_file(self) -> Path:
        return self.data_dir / "alarms.json"
