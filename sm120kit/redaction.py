"""Takes out of a text what nobody else may read: passwords, keys, tokens, logins in addresses."""

from __future__ import annotations

import re

from sm120kit.patterns import pattern

REDACTED = "[redacted]"

_URL_LOGIN = pattern(r"(?<=://)[^/\s]*@")
_URL_SECRET = pattern(r"(?i)(?<=[?&])([^=&\s]{0,64}?(?:key|token|secret|passw|auth|sig|cred)[^=&\s]{0,64}=)[^&\s]*")
_SCHEME = pattern(
    r"""(?ix)
    ( \b (?:proxy-)? authorization \\?['"]? \s*[:=]\s* \\?['"]? (?:[a-z][\w-]*\ +)? | \bbearer\ + ) [^\s'",\\]+
    | ( \b (?:set-)? cookie \\?['"]? \s*:\s* \\?['"]? ) [^'"]+
    """
)
_BASIC = pattern(r"(\b[Bb]asic +)(?=[A-Za-z0-9+/]*[A-Z0-9+/=])[A-Za-z0-9+/_-]{6,}={0,2}")
_NAMES = r"""
    (?: api[-_\ ]?key | access[-_]?key | (?:private|secret|auth|admin|account|encryption)[-_]?key | secret
      | passw(?:or)?d | passphrase | credentials? | (?<![a-z]) pass )
    (?: [-_](?:id|key|token|value|b64) )*
"""
_TOKEN = r"(?<!bos.)(?<!eos.)(?<!pad.)(?<!unk.) token"
_ASSIGNED = r"""\\*['"]? \s*(?:=>|[:=])\s* | \ provided:\ * """
_VALUE = r"""(?P<quote> \\*["'])? (?! \[redacted\] | (?:None|null|true|false)\b )"""
_NAMED = pattern(
    rf"""(?ix)
    (?P<name> {_NAMES} (?:{_ASSIGNED}) {_VALUE} ) (?(quote) (?: (?!(?P=quote)) . )+ | [^\s'",&]+ )
    """
)
_NAMED_TOKEN = pattern(
    # Models have tokens too: numbers of them, and special ones such as <s>.
    rf"""(?ix)
    (?P<name> {_TOKEN} (?:{_ASSIGNED}) {_VALUE} ) (?! [\d.,]+ (?![\w.-]) | [<\[(|] )
    (?(quote) (?: (?!(?P=quote)) . )+ | [^\s'",&]{{3,}} )
    """
)
_FLAG = pattern(
    rf"""(?ix)
    ( (?<![\w-]) --? [a-z0-9_-]* (?: {_NAMES} | token ) (?: =\s* | \s+ ) ["']? ) (?!-|\[redacted\]) [^\s'"]+
    """
)
_TOKENS = {
    "hf_": r"(?:(?=[\w-]{0,99}\d)[\w-]{8,}|[A-Za-z0-9]{16,})",
    "sk-": r"(?:(?=[\w-]{0,99}\d)[\w-]{8,}|[\w-]{16,})",
    "gh": r"[pousr]_\w{10,}",
    "github_pat_": r"\w{10,}",
    "glpat-": r"[\w-]{10,}",
    "nvapi-": r"[\w-]{10,}",
    "xox": r"[a-z]-[\w-]{6,}",
    "xapp-": r"[\w-]{10,}",
    "AKIA": r"[A-Z0-9]{10,}",
    "ASIA": r"[A-Z0-9]{10,}",
    "AIza": r"[\w-]{20,}",
    "gsk_": r"\w{16,}",
    "dckr_pat_": r"[\w-]{10,}",
    "npm_": r"[A-Za-z0-9]{20,}",
    "pypi-": r"[\w-]{20,}",
    "eyJ": r"[\w-]{6,512}\.[\w-]+(?:\.[\w-]*)?",
}
"""How tokens of well-known services begin, and what follows. What is looked for ahead has a limit, here and above: a
line of a megabyte must not be read again from each of its letters."""
_LOOKS_SECRET = pattern(rf"(?<![A-Za-z0-9])(?:{'|'.join(map(''.join, _TOKENS.items()))})")


def redacted(text: str) -> str:
    """``text`` with :data:`REDACTED` in place of what is a secret by its form, or by the name before it."""
    text = _URL_LOGIN.sub(f"{REDACTED}@", text)
    text = _URL_SECRET.sub(rf"\1{REDACTED}", text)
    text = _SCHEME.sub(_after_name, text)
    text = _BASIC.sub(_after_name, text)
    text = _without_tokens(text)
    text = _FLAG.sub(_after_name, text)
    text = _NAMED.sub(_after_name, text)
    return _NAMED_TOKEN.sub(_after_name, text)


def redacted_paths(text: str) -> str:
    """The same for a list of folders, such as PATH, in which only the form of a token can tell."""
    if text[:1] != "/" or any(letter in text for letter in "=@?& \"'"):
        return redacted(text)
    return _without_tokens(text)


def _without_tokens(text: str) -> str:
    # Few texts hold how a token begins, and most runs need not compile what follows.
    return _LOOKS_SECRET.sub(REDACTED, text) if any(start in text for start in _TOKENS) else text


def _after_name(match: re.Match[str]) -> str:
    return (match[1] or match[match.lastindex or 0]) + REDACTED
