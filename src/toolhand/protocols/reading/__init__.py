"""The reading engine: from a model's raw text to a `Reply`.

    text ─▶ scan (thinking, fences, prose, candidates) ─▶ judge (use or mention) ─▶ bind ─▶ Reply

`scan` walks once from left to right and hands what looks like an asking to the families, one small file each; `judge`
decides which of the candidates are meant; `settle` binds them and makes the reply; `stream` is the incremental face.
"""
