"""Worker processes for plain functions whose work must be ended for good: `isolation="process"`.

    parent (`pool`, `nodes`, `definition`)  ─▶  zygote and templates (`zygote`)  ─▶  workers (`calls`)

What crosses is JSON (`frames`). Why it is built this way: docs/adr/0007-where-plain-tools-run.md.
"""
