"""Settings of the window: its look, its place in the system, its keys."""

from typing import Annotated, Literal

from pydantic import ValidationInfo, field_validator, model_validator

from kazeia_desktop.settings.base import Apply, Section, Shown, Unfit
from kazeia_desktop.settings.keys import canonical


# fmt: off
class AppearanceSettings(Section):
    """The window."""

    language: Annotated[Literal["auto", "fr", "en"], Shown(
        ("Langue de la fenêtre", "Language of the window"), ("", ""), Apply.NOW)] = "auto"
    theme: Annotated[Literal["auto", "light", "dark", "contrast"], Shown(
        ("Thème", "Theme"),
        ("« auto » suit le système, aussi quand il demande des contrastes élevés.",
         "“auto” follows the system, also when it asks for high contrast."), Apply.NOW)] = "auto"
    reduced_motion: Annotated[bool, Shown(
        ("Moins d'animations", "Reduced motion"), ("", ""), Apply.NOW)] = False


class SystemSettings(Section):
    """The app among the others of the desktop."""

    keep_in_tray: Annotated[bool, Shown(
        ("Rester dans la zone de notification", "Keep running in the tray"),
        ("Fermer la fenêtre la cache ; le menu de l'icône quitte. Sans zone de notification, fermer quitte.",
         "Closing the window hides it; the icon's menu quits. Without a tray, closing quits."), Apply.NOW)] = False
    start_at_login: Annotated[bool, Shown(
        ("Démarrer avec la session", "Start at login"), ("", ""), Apply.NOW)] = False
    global_shortcut: Annotated[str, Shown(
        ("Raccourci de tout le bureau", "Shortcut of the whole desktop"),
        ("Ouvre ou coupe le micro depuis toute application, par exemple Ctrl+Alt+K. Vide : aucun. Là où le bureau "
         "ne le permet pas, liez dans ses réglages une touche à la commande `kazeia toggle`.",
         "Microphone on or off from any application, for example Ctrl+Alt+K. Empty: none. Where the desktop does not "
         "allow it, bind a key in its own settings to the command `kazeia toggle`."), Apply.NOW)] = ""
    notifications: Annotated[Literal["off", "alarms", "all"], Shown(
        ("Notifications", "Notifications"),
        ("Quand la fenêtre est cachée : minuteurs et alarmes, ou aussi les réponses. Par l'icône de la zone de "
         "notification.",
         "When the window is hidden: timers and alarms, or replies too. Through the tray's icon."),
        Apply.NOW)] = "alarms"

    @field_validator("global_shortcut")
    @classmethod
    def _read(cls, keys: str) -> str:
        return canonical(keys)


class ShortcutSettings(Section):
    """Keys. Empty: none."""

    interrupt: Annotated[str, Shown(
        ("Interrompre", "Interrupt"),
        ("Ce que Kazeia dit ou prépare s'arrête.", "What Kazeia says or prepares stops."), Apply.NOW)] = "Space"
    stop: Annotated[str, Shown(
        ("Arrêter, ou revenir", "Stop, or go back"),
        ("Arrête la réponse ; sinon ferme ce qui est ouvert.", "Stops the reply; else closes what is open."),
        Apply.NOW)] = "Esc"
    mute: Annotated[str, Shown(
        ("Couper ou ouvrir le micro", "Microphone on or off"), ("", ""), Apply.NOW)] = "Ctrl+M"
    new: Annotated[str, Shown(
        ("Nouvelle conversation", "New conversation"), ("", ""), Apply.NOW)] = "Ctrl+N"
    conversations: Annotated[str, Shown(
        ("Liste des conversations", "List of conversations"), ("", ""), Apply.NOW)] = "Ctrl+L"
    find: Annotated[str, Shown(
        ("Chercher dans la conversation", "Find in the conversation"), ("", ""), Apply.NOW)] = "Ctrl+F"
    search: Annotated[str, Shown(
        ("Chercher dans toutes les conversations", "Search all conversations"), ("", ""),
        Apply.NOW)] = "Ctrl+Shift+F"
    settings: Annotated[str, Shown(("Réglages", "Settings"), ("", ""), Apply.NOW)] = "F1"
    quit: Annotated[str, Shown(("Quitter Kazeia", "Quit Kazeia"), ("", ""), Apply.NOW)] = "Ctrl+Q"

    @field_validator("*")
    @classmethod
    def _read(cls, keys: str, info: ValidationInfo) -> str:
        return canonical(keys, may_be_space=info.field_name == "interrupt")

    @model_validator(mode="after")
    def _each_key_once(self) -> "ShortcutSettings":
        used = [keys for keys in self.model_dump().values() if keys]
        for keys in used:
            if used.count(keys) > 1:
                raise Unfit(
                    "{keys} is the shortcut of something else already: choose another one, or free it first.",
                    keys=keys,
                )
        return self
