"""Tests of runs on many machines."""
