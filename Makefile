# `make run` and `make test` make .venv first; both start at once the next time.

PYTHON ?= python3
TIER ?= quick
CORES ?= all
# Tests wait part of their time, for kills and Snakemake: one process more than there are cores.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(min((os.cpu_count() or 1) + 1, 6))')
# The environment's programs come first for everything that is started from here.
export PATH := $(CURDIR)/.venv/bin:$(PATH)
# The installers write no bytecode, which takes longer than all else; Python writes that of the modules it imports.
unexport PYTHONDONTWRITEBYTECODE
# Without docstrings neither the page nor `--help` has its text.
unexport PYTHONOPTIMIZE
# Snakemake and uv want a cache folder. Where the home folder cannot be written, it lies in the clone.
export XDG_CACHE_HOME := $(shell cache="$${XDG_CACHE_HOME:-$$HOME/.cache}"; \
  mkdir -p "$$cache" 2> /dev/null && [ -w "$$cache" ] || cache="$(CURDIR)/build/cache"; echo "$$cache")

# uv installs in seconds, but reads neither pip's configuration nor its CPU builds of torch: where it fails, and for
# torch, pip is asked.
UV = uv==0.13.9
PIP = .venv/bin/python -m pip install -qq --disable-pip-version-check --no-compile
QUICK = .venv/bin/python -m uv pip install --quiet --system-certs --python .venv/bin/python --no-deps
TORCH ?= $(shell sed -n '/^torch==/p' requirements.lock)

PYTEST = python -m pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder --durations 10

REST = slow or pipeline or faults or slurm or browser or conda

.PHONY: run test test-rest test-all lint env dev lock clean help

help: ## what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /	/'

run: env ## the quick tier and the page of all results, results/report.html (TIER=reduced or paper trains those)
	@snakemake --cores $(CORES) --config tier=$(TIER) -- all
	@echo "Done: open results/report.html"

test: dev ## the tests of before a commit, in WORKERS processes
	$(PYTEST) -m "not ($(REST))"

test-rest: dev ## the others; those that need SLURM, a browser or real data are skipped where there is none
	$(PYTEST) -m "$(REST)"

test-all: test test-rest ## all tests

lint: dev ## ruff, snakefmt and Snakemake's own linter
	ruff check .
	ruff format --check .
	snakefmt --check Snakefile workflow
	snakemake --lint

env: .venv/ready ## only the environment of the pipeline

dev: .venv/dev-ready ## the environment with the tests' tools, linters and DVC besides

# Every program of an environment names the environment's folder, so one that was moved has to be made again.
MOVED := $(shell [ ! -s .venv/ready ] || [ "$$(cat .venv/ready)" = "$$(cd .venv && pwd -P)" ] || echo .venv/moved)
.PHONY: $(MOVED)

.venv/ready: requirements.lock pyproject.toml $(MOVED)
	@command -v $(PYTHON) > /dev/null || { \
	  echo "reprise: error: no command $(PYTHON); name a Python 3.11 or newer: make PYTHON=/path/to/python3.12 run" >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "reprise: error: $$($(PYTHON) --version 2>&1) is too old; name Python 3.11 or newer: make PYTHON=python3.12 run" >&2; exit 2; }
	@echo "making the environment .venv"
	@$(PYTHON) -m venv $(if $(MOVED),--clear) .venv
	@$(PIP) $(UV) || echo "uv could not be installed; pip takes its place and a minute more"
	@sed '/^torch==/d' requirements.lock > .venv/requirements.txt
	@$(QUICK) --requirement .venv/requirements.txt || $(PIP) --no-deps --requirement .venv/requirements.txt
	@$(PIP) $(TORCH)
	@$(QUICK) --editable . || $(PIP) --no-deps --editable .
	@cd .venv && pwd -P > ready

.venv/dev-ready: .venv/ready requirements-dev.lock
	@echo "adding the tests' tools to .venv"
	@$(QUICK) --requirement requirements-dev.lock || $(PIP) --no-deps --requirement requirements-dev.lock
	@touch $@

HASHES = build/lock/bin/python -m uv pip compile --quiet --system-certs --no-deps --generate-hashes --no-header --no-annotate

lock: ## resolve both locks anew (then change the pins in envs/)
	rm -rf build/lock && $(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet '.[pipeline,data]'
	build/lock/bin/python -m pip freeze --exclude reprise | sed 's/+cpu$$//' | sort -f > build/lock/run
	build/lock/bin/python -m pip install --quiet '.[pipeline,data,dvc,dev]' --constraint build/lock/run
	build/lock/bin/python -m pip freeze --exclude reprise | sed 's/+cpu$$//' | sort -f | grep -vxFf build/lock/run > build/lock/dev
	build/lock/bin/python -m pip install --quiet $(UV)
	sed '/^torch==/d' build/lock/run > build/lock/run.txt && cp build/lock/dev build/lock/dev.txt
	{ sed -n '/^#/p' requirements.lock; $(HASHES) build/lock/run.txt; grep '^torch==' build/lock/run; } > build/lock/new
	mv build/lock/new requirements.lock
	{ sed -n '/^#/p' requirements-dev.lock; $(HASHES) build/lock/dev.txt; } > build/lock/new && mv build/lock/new requirements-dev.lock

# build/together holds finished records until they are moved to results/.
clean: ## remove environment and builds; data, checkpoints and results stay
	rm -rf .venv build/kernels build/lock build/cache build/lib build/bdist.* .pytest_cache .ruff_cache .hypothesis
