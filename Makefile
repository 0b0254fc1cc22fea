# Everything is run from here: `make` alone shows what there is.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEV_STAMP := $(VENV)/.installed-dev

.PHONY: help install lock demo chart-golden chart-test test test-torch test-stores servers servers-stop faults fuzz outages chaos clients-test dashboards-test images images-test check gen bench-quality bench-extraction bench-speed bench-mesh bench-hops bench-growth bench-capacity bench-encoders bench-peer bench-load fix clean

help: ## show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

UV := $(BIN)/uv
UV_VERSION := $(shell sed -n 's/.*"uv==\([0-9.]*\)".*/\1/p' pyproject.toml)
COMPILE := $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate

$(UV):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=python3.11 …"; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

$(STAMP): pyproject.toml requirements.lock | $(UV)
	@echo "installing what the mesh needs (once; about 150 MB of downloads)"
	@$(UV) pip install --quiet --require-hashes --requirement requirements.lock
	@$(UV) pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(DEV_STAMP): requirements-dev.lock $(STAMP)
	@echo "installing the tools of its developers (once)"
	@$(UV) pip install --quiet --require-hashes --requirement requirements-dev.lock
	@touch $@

install: $(DEV_STAMP) ## make .venv with everything from the locks

SERVERS_TOO := neo4j postgres opensearch qdrant llm tei openai spacy door mcp jwt otel
ALL_EXTRAS := --extra embedded $(SERVERS_TOO:%=--extra %)

lock: $(UV) ## pin the newest versions that pyproject.toml allows
	$(COMPILE) --extra embedded --group build pyproject.toml --output-file requirements.lock
	$(COMPILE) $(ALL_EXTRAS) --group build --group dev pyproject.toml --constraint requirements.lock --output-file requirements-dev.lock
	$(COMPILE) $(ALL_EXTRAS) --extra sentence-transformers --group build --group dev --group torch pyproject.toml --constraint requirements-dev.lock --output-file requirements-torch.lock

demo: $(STAMP) ## retain a conversation, ask it, see answers and why
	@$(BIN)/recallmesh demo

LANES ?= $(shell n=$$(nproc); echo $$((n < 6 ? n + 1 : 6)))
MARKS ?= not chart
SERVERS := PYTHONPATH=tests:. $(BIN)/python -m store_servers
CHART := PYTHONPATH=tests:. $(BIN)/python -m chart

test: $(DEV_STAMP) ## run every test but chart-test's, with the database servers that can be had here (LANES=1: one by one)
	@$(CHART) helm > /dev/null || true # cold, it takes longer than a test may; without, tests say so
	@$(SERVERS) run -- $(BIN)/python -m pytest -n $(LANES) -m "$(MARKS)"

TORCH := .torch
TORCH_STAMP := $(TORCH)/.installed

$(TORCH_STAMP): pyproject.toml requirements-torch.lock | $(UV)
	@echo "installing torch below $(TORCH) (once; some six GB)"
	@test -e $(TORCH)/bin/python || $(UV) venv --quiet --python $(BIN)/python $(TORCH)
	@$(UV) pip install --quiet --python $(TORCH) --require-hashes --requirement requirements-torch.lock
	@$(UV) pip install --quiet --python $(TORCH) --no-deps --no-build-isolation --editable .
	@touch $@

test-torch: $(TORCH_STAMP) ## run the tests of the models on torch, in an environment of their own (six GB, once)
	@$(TORCH)/bin/python -m pytest tests/on_torch tests/contract/test_embedder.py tests/contract/test_reranker.py

test-stores: $(DEV_STAMP) ## run the tests that need a database server
	@$(SERVERS) run -- $(BIN)/python -m pytest -m stores

servers: $(DEV_STAMP) ## start OpenSearch, Neo4j and PostgreSQL for tests, below .servers (no containers; Java and Maven)
	@$(SERVERS) start

servers-stop: $(DEV_STAMP) ## stop them and remove their data
	@$(SERVERS) stop

fuzz: $(DEV_STAMP) ## 20,000 made-up calls of each service, none of which may end as a fault of ours (CALLS=, SEED=)
	@PYTHONPATH=tests:. $(BIN)/python tests/fuzz/storm.py $(if $(CALLS),--calls $(CALLS)) $(if $(SEED),--seed $(SEED)) $(SERVICES)

faults: $(DEV_STAMP) ## 10,000 retains while the process is killed again and again (SEED=number)
	@PYTHONPATH=tests:. $(BIN)/python tests/faults/soak.py $(if $(RETAINS),--retains $(RETAINS)) $(if $(KILLS),--kills $(KILLS)) $(if $(SEED),--seed $(SEED))

outages: $(DEV_STAMP) ## 5,000 retains while servers are stopped, paused and killed (RETAINS=, SEED=)
	@$(SERVERS) run -- $(BIN)/python tests/faults/outage.py $(if $(RETAINS),--retains $(RETAINS)) $(if $(SEED),--seed $(SEED))

chart-golden: $(DEV_STAMP) ## render the Helm chart's goldens anew, to be read in the diff
	@RECALLMESH_TEST_RENEW=1 $(BIN)/python -m pytest -q tests/helm/test_golden.py
	@git diff --stat -- tests/helm/golden

chart-test: $(DEV_STAMP) ## install the Helm chart on a real control plane (built by Go; ten minutes once, then one)
	@$(CHART) build > /dev/null
	@$(BIN)/python -m pytest tests/chart -m chart
	@$(CHART) keep

dashboards-test: $(DEV_STAMP) ## a real Prometheus scrapes nine processes and answers every query of the dashboards (ROUNDS=)
	@PYTHONPATH=tests:. $(BIN)/python tests/prometheus_live.py $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(KEEP),--keep $(KEEP))

chaos: $(DEV_STAMP) ## each process and store of a mesh killed, paused, slowed, cut off (ONLY="graph slow,recall"; root)
	@$(SERVERS) run -- $(BIN)/python -m faults.mesh.chaos $(if $(ONLY),--only "$(ONLY)") $(if $(SEED),--seed $(SEED))

clients-test: $(DEV_STAMP) ## build the programme of each language in clients/ and run it against a mesh
	@$(BIN)/python -m pytest tests/clients

images: $(STAMP) ## build the images by docker or podman (IMAGES="keyword door", BASE=, CA=, WHEELS=)
	@$(BIN)/python deploy/images.py build $(IMAGES) $(if $(BASE),--base $(BASE)) $(if $(CA),--ca $(CA)) $(if $(WHEELS),--wheels $(WHEELS))

images-test: $(DEV_STAMP) ## build images on a base of Debian's packages, and run them (IMAGES=all; root, podman, debootstrap)
	@RECALLMESH_TEST_IMAGES=$(or $(IMAGES),few) $(BIN)/python -m pytest tests/images

check: $(DEV_STAMP) ## format, lint, types, imports, protos, generated files
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy services shared bench protos/openapi.py clients/python deploy/helm deploy/grafana deploy/images.py deploy/image/bill.py
	@echo "every test can be imported: found here before the others have run for half an hour"
	@found=$$($(BIN)/python -m pytest --collect-only -qqq -n 0) || { echo "$$found"; exit 1; }
	$(BIN)/lint-imports
	$(BIN)/buf lint
	$(BIN)/buf format --diff --exit-code
	$(BIN)/python protos/breaking.py
	$(BIN)/python protos/generate.py --check
	$(BIN)/python protos/openapi.py --check
	$(BIN)/python -m recallmesh.cli.reference --check
	$(BIN)/python clients/service_config.py --check
	$(BIN)/python deploy/grafana/dashboards.py --check
	$(BIN)/python deploy/helm/generate.py --check

fix: $(DEV_STAMP) ## format and mend what can be mended by itself
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/buf format --write

# Each language brings a client.mk: its gen-LANGUAGE, and what it adds to these two.
CLIENTS := # language:tool, such as go:go
BUILT := # what is made below clients/
include $(wildcard clients/*/client.mk)

gen: $(DEV_STAMP) ## make the stubs of every language from the protos, the pages from the code
	$(BIN)/python protos/generate.py
	$(BIN)/python protos/openapi.py
	$(BIN)/python -m recallmesh.cli.reference
	$(BIN)/python clients/service_config.py
	$(BIN)/python deploy/grafana/dashboards.py
	$(BIN)/python deploy/helm/generate.py
	@for client in $(CLIENTS); do \
	  if command -v "$${client#*:}" > /dev/null; then $(MAKE) --no-print-directory "gen-$${client%:*}"; \
	  else echo "clients/$${client%:*}: left out, $${client#*:} is not installed here"; fi; done

bench-quality: $(DEV_STAMP) ## evidence recall (DATA=folder with conv-*.jsonl)
	$(BIN)/python -m bench.quality $(if $(DATA),--data $(DATA))

bench-extraction: $(DEV_STAMP) ## what facts keep of the evidence, and which names are found (DATA=folder as above)
	$(BIN)/python -m bench.extraction $(if $(DATA),--data $(DATA))

bench-speed: $(DEV_STAMP) ## times on 1k to 100k memories, as ratios to a baseline
	$(BIN)/python -m bench.speed

bench-mesh: $(DEV_STAMP) ## nine processes on real stores against one on the embedded ones
	@$(SERVERS) run --lasting -- $(BIN)/python -m bench.mesh

bench-hops: $(DEV_STAMP) ## what a hop costs: codec, call, channels, gzip, event loop, a recall in nine processes (PARTS="codec hop")
	@PYTHONPATH=tests:. $(BIN)/python -m bench.hops $(PARTS)

bench-growth: $(DEV_STAMP) ## what grows with a bank, and with banks (SIZES="1000 10000 100000", BANKS=1000, FOLDER=where they stay)
	$(BIN)/python -m bench.growth $(if $(SIZES),--sizes $(SIZES)) $(if $(FOLDER),--folder $(FOLDER)/bank)
	$(if $(BANKS),$(BIN)/python -m bench.banks --banks $(BANKS) $(if $(FOLDER),--folder $(FOLDER)/banks))

bench-encoders: $(DEV_STAMP) ## ways to run the cross-encoder, quality against milliseconds (DATA=folder as above)
	$(BIN)/python -m bench.encoders $(if $(DATA),--data $(DATA)) --picture

bench-capacity: $(DEV_STAMP) ## bytes a memory in each store, CPU time a call in each service
	$(BIN)/python -m bench.capacity $(if $(SIZE),--size $(SIZE))

bench-peer: $(DEV_STAMP) ## Hindsight beside this mesh in one run (its packages are installed below .peer; DATA=folder as above)
	$(BIN)/python -m bench.peer $(if $(DATA),--data $(DATA))

bench-load: $(DEV_STAMP) ## 1 to 128 callers of one process and of nine: throughput, p99, who gets what (SECONDS=, DATA=)
	@PYTHONPATH=tests:. $(BIN)/python -m bench.load $(if $(SECONDS),--seconds $(SECONDS)) $(if $(DATA),--data $(DATA))

clean: ## remove what was built and cached, not your data
	@test ! -e .servers/env || $(SERVERS) stop
	rm -rf .servers $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist $(BUILT)
