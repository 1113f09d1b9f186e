# One command checks everything; CI and hooks call the same.
PYTHON ?= python

.PHONY: check format lint types imports test screenshots

check: lint types imports test

format:
	$(PYTHON) -m ruff format .
	$(PYTHON) -m ruff check --fix .

lint:
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m ruff check .

types:
	$(PYTHON) -m mypy

imports:
	$(PYTHON) -c "from importlinter.cli import lint_imports_command; lint_imports_command()"

test:
	$(PYTHON) -m pytest

screenshots:
	$(PYTHON) screenshots/make.py
