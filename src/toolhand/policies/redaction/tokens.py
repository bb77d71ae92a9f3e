"""Finds credentials that are known by their shape: providers' keys, JWTs, private keys, passwords in addresses.

The prefixes are those that the providers document for their own keys, so that a leaked one can be found.
"""

from __future__ import annotations

import re
from typing import Final

from toolhand.core.lazily import lazy_pattern
from toolhand.policies.redaction.masks import SECRET

_PREFIXES: Final = (
    "sk-", "pk-lf-", "sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_",
    "github_pat_", "glpat-", "glrt-", "gldt-", "glptt-", "AKIA", "ASIA", "AIza", "ya29.", "GOCSPX-", "xoxa-", "xoxb-",
    "xoxe-", "xoxe.", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-", "hf_", "npm_", "pypi-", "dckr_pat_", "dop_v1_", "LTAI",
    "AKID", "bce-v3/", "SG.", "gsk_", "xai-", "nvapi-", "pplx-", "tvly-", "r8_", "hvs.", "tskey-", "shpat_", "shpss_",
    "figd_", "lin_api_", "ntn_", "ATATT3", "sq0atp-", "sq0csp-", "rubygems_", "sntrys_", "EAACEdEose0cBA",
)  # fmt: skip

# AWS and Aliyun ids have capitals and digits after the prefix; a word that merely begins so has not.
_KNOWN: Final = lazy_pattern(
    r"(?<![A-Za-z0-9])(?:"
    r"(?P<loose>sk-[A-Za-z0-9_\-]{16,}+)"
    r"|(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}+|whsec_[A-Za-z0-9+/=]{16,}+|pk-lf-[A-Za-z0-9\-]{16,}+"
    r"|gh[pousr]_[A-Za-z0-9]{16,}+|github_pat_[A-Za-z0-9_]{16,}+|gl(?:pat|rt|dt|ptt)-[A-Za-z0-9_\-]{16,}+"
    r"|A(?:KIA|SIA)[A-Z0-9]{12,}+|AIza[A-Za-z0-9_\-]{20,}+|ya29\.[A-Za-z0-9_\-]{20,}+|GOCSPX-[A-Za-z0-9_\-]{16,}+"
    r"|xox[abeoprs][-.][A-Za-z0-9.\-]{10,}+|xapp-[0-9]-[A-Za-z0-9\-]{10,}+"
    r"|(?:hf|npm)_[A-Za-z0-9]{20,}+|pypi-[A-Za-z0-9_\-]{32,}+|dckr_pat_[A-Za-z0-9_\-]{16,}+|dop_v1_[a-f0-9]{32,}+"
    r"|LTAI[A-Za-z0-9]{12,}+|AKID[A-Za-z0-9]{16,}+|bce-v3/[A-Za-z0-9\-]{10,}+/[a-f0-9]{20,}+"
    r"|SG\.[A-Za-z0-9_\-]{16,}+\.[A-Za-z0-9_\-]{16,}+|gsk_[A-Za-z0-9]{20,}+|(?:xai|nvapi|pplx|tvly)-[A-Za-z0-9_\-]{20,}+"
    r"|r8_[A-Za-z0-9]{20,}+|hvs\.[A-Za-z0-9_\-]{20,}+|tskey-[a-z]++-[A-Za-z0-9\-]{12,}+|shp(?:at|ss)_[a-fA-F0-9]{24,}+"
    r"|figd_[A-Za-z0-9_\-]{20,}+|lin_api_[A-Za-z0-9]{20,}+|ntn_[A-Za-z0-9]{20,}+|ATATT3[A-Za-z0-9_=\-]{20,}+"
    r"|sq0(?:atp|csp)-[A-Za-z0-9_\-]{20,}+|rubygems_[a-f0-9]{32,}+|sntrys_[A-Za-z0-9_=+/\-]{20,}+|EAACEdEose0cBA[A-Za-z0-9]++"
    r")"
)
_RUN: Final = lazy_pattern(r"[A-Za-z0-9]{20}")
_JWT: Final = lazy_pattern(
    r"(?<![A-Za-z0-9_\-])eyJ[A-Za-z0-9_\-]{8,}+\.[A-Za-z0-9_\-]{8,}+(?:\.[A-Za-z0-9_\-]*+)*+"
)
_SCHEME: Final = lazy_pattern(
    r"(?i:bearer|basic)[ ]+((?=[^\s]{0,200}?[0-9+/=_.~]|[A-Za-z]{24})[A-Za-z0-9._~+/=\-]{16,}+)"
)
_HEX: Final = lazy_pattern(r"[0-9a-f]{32}\.")
_HEX_KEY: Final = lazy_pattern(
    r"(?<![0-9A-Za-z])[0-9a-f]{32}\.(?=[A-Za-z]*[0-9])(?=[a-z0-9]*[A-Z])[A-Za-z0-9]{16}(?![A-Za-z0-9])"
)
_BOT: Final = lazy_pattern(r"(?<![0-9A-Za-z])[0-9]{8,10}:AA[A-Za-z0-9_\-]{32,}+")

_BREAK: Final = r"(?:\s|\\[nr])*+"
_PRIVATE_KEY: Final = lazy_pattern(
    r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----(?:"
    # With its end in sight all of it goes, quoted or short as its lines may be; without, what looks like a key.
    r"(?s:(?:(?!-----).){0,16384}+)-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----|"
    rf"(?:{_BREAK}[A-Za-z][A-Za-z\-]{{2,20}}: [^\n\\]{{0,120}})*+"
    rf"(?:{_BREAK}[A-Za-z0-9+/=]{{20,}}+)*+(?:{_BREAK}[A-Za-z0-9+/=]{{1,76}}+(?={_BREAK}-----END))?+"
    rf"(?:{_BREAK}-----END [A-Z0-9 ]{{0,30}}PRIVATE KEY(?: BLOCK)?-----)?+)"
)

# The last @ before the path ends the password: people write passwords with an @ in them.
_USER_AND_PASSWORD: Final = lazy_pattern(
    r"://([^\s/?#@:\"'<>\[\]]{0,128}+:)(?!\[masked)([^\s/\"'<>`]{1,256})@(?=[\w\[])"
)
_DATABASES: Final = (
    "postgres", "mysql", "mariadb", "mongodb", "redis", "amqp", "clickhouse", "mssql", "sqlserver", "oracle",
)  # fmt: skip
_DATABASE_PASSWORD: Final = lazy_pattern(
    r"(?i:postgres(?:ql)?|mysql|mariadb|mongodb|rediss?|amqps?|clickhouse|mssql|sqlserver|oracle)[\w+.\-]{0,20}://"
    r"([^\s/?#@:\"'<>\[\]]{0,128}+:)(?!\[masked)(?![0-9]{2,5}[/?])([^\s@\"'<>`]{1,256})@(?=[\w\[])"
)
_HOOKS: Final = ("hooks.slack.com/services/", "/open-apis/bot/v2/hook/", "/api/webhooks/")
_HOOK: Final = lazy_pattern(
    r"(?:hooks\.slack\.com/services/|/open-apis/bot/v2/hook/|discord(?:app)?\.com/api/webhooks/)([A-Za-z0-9_\-/]{8,}+)"
)


def without_private_keys(text: str, label: str = "") -> str:
    """The text with PEM private keys masked, also ones that were cut off."""
    del label
    return _PRIVATE_KEY.sub(SECRET, text) if "-----BEGIN" in text else text


def without_address_passwords(text: str, label: str = "") -> str:
    """The text with the passwords in URLs and connection strings masked; user, host and the rest stay."""
    del label
    if "/" not in text:
        return text
    if "@" in text:
        text = _USER_AND_PASSWORD.sub(_second_masked, text)
        lowered = text.lower()
        if any(name in lowered for name in _DATABASES):
            text = _DATABASE_PASSWORD.sub(_second_masked, text)
    if any(hook in text for hook in _HOOKS):
        text = _HOOK.sub(_first_masked, text)
    return text


def without_known_tokens(text: str, label: str = "") -> str:
    """The text with the keys of known providers, JWTs and credentials of the Authorization header masked."""
    del label
    if len(text) < 16 or text.isdigit():
        return text
    # A long text is looked through faster for each prefix alone than for all at once.
    if len(text) < 400 or any(prefix in text for prefix in _PREFIXES):
        text = _KNOWN.sub(_known, text)
    if "eyJ" in text:
        text = _JWT.sub(SECRET, text)
    if "earer" in text or "asic" in text or "EARER" in text:
        text = _SCHEME.sub(_first_masked, text)
    if ":AA" in text:
        text = _BOT.sub(SECRET, text)
    return _HEX_KEY.sub(SECRET, text) if "." in text and len(text) >= 49 and _HEX.search(text) else text


def _known(match: re.Match[str]) -> str:
    loose = match.group("loose")
    if loose is not None and not (any(map(str.isdigit, loose)) or _RUN.search(loose)):
        return loose  # words joined by hyphens
    return SECRET


def _first_masked(match: re.Match[str]) -> str:
    return _with_mask(match, 1)


def _second_masked(match: re.Match[str]) -> str:
    return _with_mask(match, 2)


def _with_mask(match: re.Match[str], group: int) -> str:
    whole, start = match.group(), match.start()
    return whole[: match.start(group) - start] + SECRET + whole[match.end(group) - start :]
