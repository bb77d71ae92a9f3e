"""Judging models offline: cases, runs of them over models and protocols, reports, and comparisons with intervals."""

from __future__ import annotations
