# `make run` and `make test` set up .venv from requirements.lock first; both work again at once the next time.

PYTHON ?= python3
TIER ?= quick
CORES ?= all
# Tests wait 40 % of their time, for SLURM, kills and Snakemake: two processes more than there are cores.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(min((os.cpu_count() or 1) + 2, 6))')
# The environment's programs come first for everything that is started from here.
export PATH := $(CURDIR)/.venv/bin:$(PATH)

.PHONY: run test lint env lock clean help

help: ## what can be made
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /	/'

run: env ## the quick tier, to results/quick/report.html (TIER=reduced or paper for the others)
	snakemake --cores $(CORES) --config tier=$(TIER) -- all
	@echo "Done: open results/$(TIER)/report.html"

test: env ## all tests, in WORKERS processes
	python -m pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder

lint: env ## ruff, snakefmt and Snakemake's own linter
	ruff check .
	ruff format --check .
	snakefmt --check Snakefile workflow
	snakemake --lint

env: .venv/ready ## only the environment

.venv/ready: requirements.lock pyproject.toml
	@command -v $(PYTHON) > /dev/null || { \
	  echo "reprise: error: no command $(PYTHON); name a Python 3.11 or newer: make PYTHON=/path/to/python3.12 run" >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "reprise: error: $$($(PYTHON) --version 2>&1) is too old; name Python 3.11 or newer: make PYTHON=python3.12 run" >&2; exit 2; }
	$(PYTHON) -m venv .venv
	.venv/bin/python -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

lock: ## resolve requirements.lock anew (then mend the pins in envs/)
	rm -rf build/lock && $(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet '.[pipeline,data,report,dev]'
	{ sed -n '/^#/p' requirements.lock; build/lock/bin/python -m pip freeze --exclude reprise | sed 's/+cpu$$//' | sort -f; } > build/requirements.lock
	mv build/requirements.lock requirements.lock

clean: ## remove environment and builds; data, checkpoints and results stay
	rm -rf .venv build .pytest_cache .ruff_cache .hypothesis
