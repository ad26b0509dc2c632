# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check
SOURCES := $(shell find src/posteriori/kernels/native -type f)
ISA    ?= all  # base or avx2 compiles the kernels for that instruction set alone: faster, but the tests want both

.PHONY: help setup demo test check bench docs wheel sanitize fuzz mutants clean
.DEFAULT_GOAL := help

help:            ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1|/' | awk -F'|' '{printf "  make %-10s %s\n", $$1, $$2}'

# What builds the kernels lives in the environment too: a build apart from it would put a path of its own into every
# compile line, and compile everything each time.
$(VENV)/.builders: pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "posteriori needs python3.11 or newer on the PATH (or PYTHON=/path/to/python3)."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "posteriori needs python3.11 or newer; $(PYTHON) is `$(PYTHON) -V`."; exit 1; }
	@command -v $${CXX:-c++} >/dev/null || command -v g++ >/dev/null || { echo "posteriori needs a C++17 compiler: install one (Debian: apt-get install g++; macOS: xcode-select --install) and run make again."; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) $$($(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"])') \
	    cmake ninja 2>$(VENV)/pip.log || { cat $(VENV)/pip.log; exit 1; }
	@touch $@

# An edit of a kernel compiles that kernel; a change of pyproject.toml looks at what the tests need as well.
$(VENV)/.installed: $(VENV)/.builders CMakeLists.txt $(SOURCES)
	@echo "building posteriori$(if $(filter %.builders,$?), and installing what its tests need (about a minute the first time)) ..."
	@$(PIP) --no-build-isolation -C cmake.define.POSTERIORI_ISA=$(strip $(ISA)) \
	    $(if $(filter %.builders,$?),-e '.[dev]',--no-deps -e .) 2>$(VENV)/pip.log || { cat $(VENV)/pip.log; exit 1; }
	@touch $@

setup: $(VENV)/.installed  ## make .venv, build the kernels, install the library

demo: setup      ## the main job: from a file to a leaderboard, a model, a report and a decision with its reasons
	@$(BIN)/posteriori demo --into build/demo

test: setup      ## all tests, doctests, README and examples
	$(BIN)/python -m pytest -n 2

check: setup     ## ruff, mypy (strict), the layers
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup     ## every speed table beside its peers; writes benchmarks/RESULTS.md
	$(BIN)/python benchmarks/run.py

docs: setup      ## run every example of the docs
	$(BIN)/python -m pytest tests/test_docs.py

wheel: setup     ## sdist, a wheel from it, and tests of that wheel in a clean environment
	bash .ci/wheel

sanitize:        ## kernel tests under the address and undefined-behaviour sanitizers
	PYTHON=$(PYTHON) bash tests/kernels/sanitize.sh

fuzz: setup      ## the long runs of the property tests, and 200,000 model files that nobody saved
	HYPOTHESIS_PROFILE=fuzz $(BIN)/python -m pytest -n 2 tests/laws tests/kernels
	$(BIN)/python -m tests.store.fuzz 200000

mutants: setup   ## how many small faults the tests would not notice
	$(BIN)/python tests/mutants.py

clean:           ## remove what was built
	rm -rf build $(VENV)/.installed
