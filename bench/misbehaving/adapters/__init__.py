"""One file for each framework: `PACKAGES` that pip installs, whether a plain tool can `HAS_TIMEOUT`, and `run(url, streams)`.

A framework is imported when its `run` is called, so that its file can be looked at without it. Settings are the defaults; where there is
a timeout for a plain tool, `hang` gets one second of it.
"""
