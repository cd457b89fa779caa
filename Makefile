# `make demo` and `make test` set up .venv themselves, once.
#
#   PYTHON=...   the Python to make .venv with, 3.10 to 3.13
#   EXTRA=...    which TensorFlow .venv gets: cpu, cuda or tpu
#   WORKERS=...  how many processes run the tests
#   TESTS=...    which tests: files or folders, all by default

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint format bench conformance clean

EXTRA ?= cpu
WORKERS ?= 2
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# Nothing of the caller's Python leaks into .venv, and TensorFlow says only
# what went wrong.
unexport PYTHONPATH PYTHONHOME
export PYTHONNOUSERSITE := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export TF_CPP_MIN_LOG_LEVEL ?= 2

# The first of these that runs and is a version TensorFlow has wheels for.
CANDIDATES := python3 python3.13 python3.12 python3.11 python3.10
SUPPORTED := import sys; sys.exit(not (3, 10) <= sys.version_info < (3, 14))
PYTHON ?= $(shell for python in $(CANDIDATES); do \
  $$python -c '$(SUPPORTED)' 2>/dev/null && echo $$python && break; done)

help: ## Say what can be made.
	@sed -n 's/^\([a-z]*\):.*## /\1|/p' $(MAKEFILE_LIST) \
	  | awk -F'|' '{ printf "make %-12s %s\n", $$1, $$2 }'

setup: $(STAMP) ## Make .venv and install stratagem with its tools there.

demo: $(STAMP) ## Train on 4 replicas, beside tf.distribute.
	$(BIN)/python examples/train_digits.py --replicas=4 --compare

test: lint ## Lint, then run every test.
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(TESTS)

lint: $(STAMP) ## Check style, format and types.
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(STAMP) ## Rewrite the files in the house format.
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(STAMP) ## Measure stratagem against tf.distribute.
	$(BIN)/python -m benchmarks

conformance: $(STAMP) ## Print where stratagem does as tf.distribute does.
	$(BIN)/python -m tests.conformance

clean: ## Remove .venv, builds and caches.
	rm -rf $(VENV) build dist *.egg-info
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

$(STAMP): pyproject.toml
	@python="$(PYTHON)"; \
	"$${python:-false}" -c '$(SUPPORTED)' || { echo >&2 \
	  "stratagem needs Python 3.10, 3.11, 3.12 or 3.13, and found" \
	  "$${python:-none in PATH}. Install one, or name one:" \
	  "make PYTHON=/path/to/python3.12"; exit 1; }; \
	$(BIN)/python -m pip --version >/dev/null 2>&1 || \
	"$$python" -m venv $(VENV) || { echo >&2 \
	  "stratagem needs a Python that can make a virtual environment, and" \
	  "$$python cannot (see above). On Debian and Ubuntu, install its" \
	  "package python3-venv, or name another:" \
	  "make PYTHON=/path/to/python3.12"; exit 1; }
	$(BIN)/python -m pip install --quiet --editable '.[$(EXTRA),dev]'
	@touch $@
