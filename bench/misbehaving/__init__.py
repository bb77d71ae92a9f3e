"""What agent loops do when the model misbehaves: a scripted server, one file for each framework, and the table.

`rows.json` has what the model says and what should come of it, `server.py` says it over OpenAI's chat completions, `adapters/` runs one
question through a framework in its default settings, `judging.py` looks at what happened. `python -m bench.misbehaving` does it all;
Toolhand's own column is also a test.
"""
