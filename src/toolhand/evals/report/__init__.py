"""Reports of an evaluation, a file each: for the terminal, as one HTML page, as JUnit XML."""

from __future__ import annotations
