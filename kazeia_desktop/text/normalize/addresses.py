"""Web and e-mail addresses, paths, handles and file names as they are told to somebody."""

import re
from typing import Final

_URL: Final = re.compile(r"\b(?:https?|ftp)://[^\s<>«»\"]{1,2000}|\bwww\.[^\s<>«»\"]{1,2000}", re.IGNORECASE)
_END: Final = re.compile(r"[.,;:!?…)\]}'*_]+$")
_EMAIL: Final = re.compile(r"(?<![\w.+-])(?:mailto:)?([\w.+-]{1,64})@([\w-]{1,63}(?:\.[\w-]{1,63}){1,4})")
_DOMAINS: Final = (
    "com|org|net|fr|be|ch|ca|eu|uk|de|es|it|io|ai|dev|app|info|gov|edu|tv|co|us|me|gouv|lu|nl|pt|qc|paris|tech|online"
)
_DOMAIN: Final = re.compile(
    rf"(?<![\w@.-])((?:[\w-]{{1,63}}\.){{1,4}}(?:{_DOMAINS}))(?:/[\w./?=&%#+~-]{{0,300}})?(?![\w@-])", re.IGNORECASE
)
_FILE_OR_NAME: Final = re.compile(r"(?<=[^\W_]{2})\.(?=[a-z][a-z0-9]{0,15}(?!\w))")
_DOT_FILE: Final = re.compile(r"(?<!\S)\.(?=[a-z]{2,12}\b)")
_PATH: Final = re.compile(r"(?<![\w/<])(?:~|\.{1,2})?((?:/[\w.+-]{1,64}){2,20})/?(?!\w)")
_HANDLE: Final = re.compile(r"(?<![\w@])@(?=\w)")
_HASHTAG: Final = re.compile(r"(?<![\w#&])#(?=[^\W\d_])")

_WORDS: Final = {
    "fr": {".": "point", "-": "tiret", "_": "tiret bas", "@": "arobase", "+": "plus", "#": "hashtag", "/": "slash"},
    "en": {".": "dot", "-": "dash", "_": "underscore", "@": "at", "+": "plus", "#": "hashtag", "/": "slash"},
}


def speak_addresses(text: str, language: str) -> str:
    """Addresses of `text` in words: of a web page its site only, of an e-mail all."""
    words = _WORDS[language]
    text = _EMAIL.sub(lambda m: f"{_spelled(m[1], words)} {words['@']} {_spelled(m[2], words)}", text)
    text = _URL.sub(lambda m: _site(m[0], words), text)
    text = _DOMAIN.sub(lambda m: _spelled(m[1], words), text)
    text = _PATH.sub(lambda m: f" {_spelled(m[1], words)} ", text)
    text = _FILE_OR_NAME.sub(f" {words['.']} ", _DOT_FILE.sub(f"{words['.']} ", text))
    return _HASHTAG.sub(f"{words['#']} ", _HANDLE.sub(f"{words['@']} ", text))


def _spelled(name: str, words: dict[str, str]) -> str:
    return " ".join(words.get(c, c) for c in re.split(r"([.@_+/-])", name) if c)


def _site(url: str, words: dict[str, str]) -> str:
    end = _END.search(url[-20:])
    tail = end[0] if end else ""
    host = re.sub(r"^(?:\w+://)?(?:[^/@\s]{1,100}@)?(?:www\.)?", "", url[: len(url) - len(tail)], flags=re.IGNORECASE)
    host = re.split(r"[/?#:]", host, maxsplit=1)[0]
    return _spelled(host, words) + "".join(c for c in tail if c in ".,;:!?…")
