# `make demo` and `make test` make their own environment; PYTHON names the interpreter, VENV the environment's folder.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo docs lint test test-slow

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet -e '.[dev,docs,scenes,tensorboard]'
	touch $@

demo: $(VENV)/.installed
	$(BIN)/zoo demo

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# built into build/site; the variable hushes a notice about the next major version of MkDocs
docs: $(VENV)/.installed
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

test: lint docs
	$(BIN)/pytest -n 2 --dist loadfile

test-slow: $(VENV)/.installed
	$(BIN)/pytest -m slow
