"""The words by which names, values and sentences about secrets are told apart; nothing here is code."""

from __future__ import annotations

from typing import Final


def _words(*lines: str) -> frozenset[str]:
    return frozenset(word for line in lines for word in line.split())


REGIONS: Final = _words(
    "11 12 13 14 15 21 22 23 31 32 33 34 35 36 37 41 42 43 44 45 46 50 51 52 53 54 61 62 63 64 65 71 81 82 83 91"
)
"""The first two digits of a Chinese resident's number: provinces (GB/T 2260)."""

PASSWORDS: Final = _words("password passwords passwd passwort pwd passphrase passcode cvv cvc otp")
"""Last words of names whose value is a secret even if it is a number."""

SECRETS: Final = _words(
    "secret secrets credential credentials authorization cookie cookies jwt apikey apikeys accesskey secretkey privatekey",
    "authkey apisecret clientsecret appsecret authtoken accesstoken refreshtoken sessiontoken apitoken idtoken",
)
"""Last words of names whose value is a secret if it is a text."""

SECRET_BEFORE_KEY: Final = _words(
    "api access secret private signing signature encryption decryption master auth service subscription account storage",
    "shared client deploy ssh consumer webhook hmac aes rsa gpg license bot admin root",
)
"""`signing_key` is a secret, a key alone is not."""

PLAIN_BEFORE_KEY: Final = _words(
    "public primary foreign sort cache partition index row object group routing idempotency map registry hot unique",
    "composite candidate surrogate natural dict redis lookup join search partial issue project",
)
"""`SORT_KEY` is no secret, though a shell's variable that ends in _KEY is one."""

PLAIN_BEFORE_TOKEN: Final = _words(
    "page next previous prev continuation pagination sync change resume max min total num number count per n input output",
    "prompt completion cached stop start bos eos pad unk mask cls sep special first last cancellation syntax",
)
"""`next_page_token` and `max_token` are no secrets."""

SAID_BESIDE: Final = _words(
    "value text plain plaintext hash hashed confirm confirmation again repeat new old current"
)
"""Last words that say nothing: `password_confirmation` is read as `password`."""

CHINESE_PASSWORDS: Final = ("密码", "口令", "验证码", "暗号")
CHINESE_SECRETS: Final = (*CHINESE_PASSWORDS, "密钥", "私钥", "令牌", "登录凭证", "访问凭证")

QUERY_PARAMETERS: Final = _words(
    "key apikey token sig signature auth authkey secret password pwd ticket session sessionid sid xamzsignature",
    "xamzsecuritytoken xgoogsignature",
)
"""Names that hold a secret in a URL's query, where `key` is a credential."""

NO_SECRETS: Final = _words(
    "str string int integer bool boolean float bytes object array list dict any optional secretstr none null nil true false",
    "undefined required invalid missing expired incorrect wrong empty must is are was not no should please the your a an too",
    "field changed reset hidden redacted set unset yes ok enabled disabled default unknown bearer basic and or of to for in",
    "on with has self this type text password passwd secret token key value valid mismatch denied revoked failed error",
    "authentication authorization header count limit",
)
"""Words behind `password:` that are a type, a state or a piece of a sentence."""

NO_DOMAINS: Final = _words("png jpg jpeg gif webp svg ico css js ts py json html mp4 pdf")
"""Endings of files that look like the end of an address: `logo@2x.png`."""
