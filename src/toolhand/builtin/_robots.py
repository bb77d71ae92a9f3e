"""Whether a site's robots.txt lets this program in. Source: RFC 9309 (Robots Exclusion Protocol); read by Protego."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, Final

import aiohttp
from yarl import URL

from toolhand.builtin._guarded_http import Fetched
from toolhand.core.errors import ToolFailure

AGENT: Final = "Toolhand"
MOST_BYTES: Final = 500 * 1024
"""RFC 9309, 2.5: at least so much of the file is read."""

_KEPT_SECONDS: Final = 3_600.0
_RETRIED_SECONDS: Final = 60.0
_MOST_SITES: Final = 256


class Robots:
    """What sites allow, kept for an hour each.

    Args:
        get: fetches a robots.txt, over its redirects, as guarded as any page.
        clock: seconds.
    """

    def __init__(
        self, get: Callable[[URL], Awaitable[Fetched]], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._get = get
        self._clock = clock
        self._kept: OrderedDict[URL, tuple[float, Any]] = OrderedDict()

    async def allows(self, url: URL) -> bool:
        """Whether the page may be fetched. A site without the file allows all; one that cannot say so now, nothing."""
        site = url.origin()
        until, rules = self._kept.get(site, (0.0, None))
        if self._clock() >= until:
            rules, seconds = await self._rules(site)
            self._kept[site] = (self._clock() + seconds, rules)
            self._kept.move_to_end(site)
            while len(self._kept) > _MOST_SITES:
                self._kept.popitem(last=False)
        return bool(rules.can_fetch(str(url), AGENT)) if hasattr(rules, "can_fetch") else bool(rules)

    async def _rules(self, site: URL) -> tuple[Any, float]:
        from protego import Protego  # noqa: PLC0415 - of an extra

        try:
            found = await self._get(site / "robots.txt")
        except ToolFailure:  # it leads to where nobody may go: no file, RFC 9309, 2.3.1.2
            return True, _KEPT_SECONDS
        except (aiohttp.ClientError, OSError):
            return False, _RETRIED_SECONDS
        if found.status >= 500:
            return False, _RETRIED_SECONDS
        if found.status >= 400:
            return True, _KEPT_SECONDS
        return Protego.parse(found.content[:MOST_BYTES].decode("utf-8", "replace")), _KEPT_SECONDS
