# The front door. `make demo` and `make test` set everything up by themselves.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin

.PHONY: help setup demo test test-fast lint types check walk questions own-things bench misbehaving clients docs lock release-check clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

setup: .venv/.ready  ## the virtual environment, from the lock file

.venv/.ready: requirements.lock pyproject.toml scripts/setup.py
	@$(PYTHON) scripts/setup.py

demo: setup  ## fetches the embedded model and answers real questions with real tools
	@$(BIN)/python -m toolhand.cli demo

test: setup  ## all tests, the ones on the embedded model included
	@$(BIN)/python scripts/test.py

test-fast: setup  ## the tests that need no model
	@$(BIN)/python scripts/test.py --fast

lint: setup  ## ruff, formatting, and the layers
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/lint-imports

types: setup  ## mypy, strict
	@$(BIN)/mypy

check: lint types test  ## what CI runs

walk: setup  ## how much code one tool call goes through
	@$(BIN)/python scripts/walk.py

questions: setup  ## how many plain questions and dialogues the embedded model answers with real tools
	@$(BIN)/python bench/questions.py && $(BIN)/python bench/dialogues.py

own-things: setup  ## how many questions over documents, a database and a table it answers
	@$(BIN)/python bench/own_things.py

bench: setup  ## figures against others, re-runnable
	@$(BIN)/python -m bench

misbehaving: setup  ## what agent frameworks do when the model misbehaves, each in an environment of its own
	@$(BIN)/python -m bench.misbehaving all

docs: setup  ## the site of the documents, in English and Chinese, into site/
	@$(BIN)/python scripts/build_docs.py

clients: setup  ## other programs' clients in front of the gateway, in an environment of their own
	@$(BIN)/python scripts/clients.py

lock: setup  ## resolves requirements.lock anew
	@$(BIN)/python scripts/lock.py

release-check: setup  ## builds wheel and sdist, checks them, and installs them anew with each extra
	@$(BIN)/python scripts/check_release.py

clean:  ## removes what was built, not the model cache
	@rm -rf .venv .mypy_cache .ruff_cache .hypothesis build dist site
