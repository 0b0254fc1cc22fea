# Everything is run from here: `make` alone shows what there is.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help install demo test check gen bench-quality bench-speed fix clean

help: ## show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(STAMP): pyproject.toml uv.lock
	@test -x $(BIN)/uv || { $(PYTHON) -m venv $(VENV) && $(BIN)/pip install --quiet --disable-pip-version-check uv==0.13.9; }
	@echo "installing (once; some 200 MB of downloads)"
	@UV_PROJECT_ENVIRONMENT=$(VENV) $(BIN)/uv sync --quiet --frozen --inexact --extra embedded --group dev
	@touch $@

install: $(STAMP) ## make .venv and install everything from the lock

demo: $(STAMP) ## retain a conversation, ask it questions, see the answers and why
	@$(BIN)/recallmesh demo

test: $(STAMP) ## run every test
	@$(BIN)/python -m pytest

check: $(STAMP) ## format, lint, types, imports, protos, drift of generated files
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy services shared bench
	$(BIN)/lint-imports
	$(BIN)/buf lint
	$(BIN)/buf format --diff --exit-code
	$(BIN)/python protos/breaking.py
	$(BIN)/python protos/generate.py --check
	$(BIN)/python -m recallmesh.cli.reference --check

fix: $(STAMP) ## format and mend what can be mended by itself
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/buf format --write

gen: $(STAMP) ## make the stubs from the protos and the settings page from the settings
	$(BIN)/python protos/generate.py
	$(BIN)/python -m recallmesh.cli.reference

bench-quality: $(STAMP) ## evidence recall on real conversations (DATA=folder with conv-*.jsonl)
	$(BIN)/python -m bench.quality $(if $(DATA),--data $(DATA))

bench-speed: $(STAMP) ## recall and retain times on 1k to 100k memories, as ratios to a baseline
	$(BIN)/python -m bench.speed

clean: ## remove what was built and cached, not your data
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
