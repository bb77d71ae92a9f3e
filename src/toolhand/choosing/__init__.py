"""Choice among many tools: an index over what they say of themselves, and which of them a session's model is shown.

`Choose` says how, `index.py` finds, `chooser.py` decides at each message, `search_tool.py` lets the model look for more, and
`selection.py` is what a turn knows of it. Vectors come from a server, where one is named (`embeddings.py`).
"""
