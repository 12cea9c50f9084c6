# Every target creates what it needs: a virtual environment in $(VENV) with the versions of requirements.lock.
#
#   make train                                                      PyTorch as pip finds it
#   make train TORCH_INDEX=https://download.pytorch.org/whl/cpu     the small CPU build of PyTorch (Linux)
#   make test PYTHON=python3.12                                     with an interpreter of your choice
#   make test-resolution RESOLUTION=highest                         with the newest packages allowed

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VENV ?= .venv
PYTHON ?=
TORCH_INDEX ?=
CONFIG ?= configs/quick.yaml
RUN ?= runs/$(basename $(notdir $(CONFIG)))-$(shell date +%Y%m%d-%H%M%S)
GAMES ?= 400
ATTACK_MINUTES ?= 2
ATTACK_SEED ?=
PYTEST_OPTIONS ?=
BENCHMARKS ?= startup engine environments strength mcts search champion analysis training_speed inference
OLD_GYMNASIUM := 1.2.2
RESOLUTION ?= lowest-direct

python := $(VENV)/bin/python
ready := $(VENV)/ready
old_gymnasium := $(VENV)-gymnasium-$(OLD_GYMNASIUM)
resolved := $(VENV)-$(RESOLUTION)
print_packages := import sysconfig; print(sysconfig.get_path('purelib'))
# Numba's cache lies beside the sources, where `make clean` finds it.
export NUMBA_CACHE_DIR :=

# Libraries that agree with nothing else have environments of their own, named as the markers of the tests that need them.
libraries_agilerl := agilerl
libraries_browser := playwright
libraries_clients := wandb rliable.library
libraries_frameworks := pyspiel torchrl minari mcp huggingface_hub supersuit moviepy array_api_compat
libraries_openenv := openenv
libraries_proofs := ortools
libraries_ray := ray
libraries_tianshou := tianshou
with_libraries := agilerl browser clients frameworks openenv proofs ray tianshou

.PHONY: help environment train test test-all test-attack test-bounds coverage mutants test-gymnasium-1.2 \
	$(addprefix test-,$(with_libraries)) kill-with-ray test-resolution site lint format bench benchmark clean distclean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z][a-z0-9.-]*:.*## / { printf "  make %-20s %s\n", $$1, $$2 }' Makefile
	@echo "  make test-LIBRARY         run the tests that need other libraries: $(with_libraries)"

environment: $(ready)  ## create the virtual environment and install everything

$(ready): requirements.lock pyproject.toml tools/create_environment.sh
	@PYTHON="$(PYTHON)" TORCH_INDEX="$(TORCH_INDEX)" tools/create_environment.sh $(VENV)
	@touch $@

train: export run := $(RUN)
train: $(ready)  ## train a first policy by self-play (minutes) and measure it against random and greedy
	@if [ -e "$$run" ]; then echo "$$run exists already: name another folder with RUN=" >&2; exit 1; fi
	$(python) -m training.train --config $(CONFIG) --run-dir "$$run"
	$(python) -m training.evaluate "$$run/final" --against random greedy --games $(GAMES)

test: $(ready)  ## run the tests of what a change can easily break, in minutes
	$(python) -m pytest --numprocesses 2 --dist loadfile -m "not slow" $(PYTEST_OPTIONS)

test-all: test  ## run all tests that need no other library, then measure how much of the rules they reach
	$(python) -m pytest --numprocesses 2 --dist loadfile -m slow $(PYTEST_OPTIONS)
	@$(MAKE) --no-print-directory coverage

test-attack: $(ready)  ## try to break everything for ATTACK_MINUTES: odd inputs, kills, interrupts …
	$(python) -m tests.attack --minutes $(ATTACK_MINUTES) $(if $(ATTACK_SEED),--seed $(ATTACK_SEED))

# Numba's machine code has no lines to count, so the rules run as plain Python here.
coverage: $(ready)  ## run the tests of the rules without compilation: every line of the engine must be reached
	NUMBA_DISABLE_JIT=1 $(python) -m pytest --cov --cov-report=term-missing \
		-W "ignore:overflow encountered:RuntimeWarning" -k "not always_left and (row or not our_games)" \
		tests/test_testing.py tests/patchwork/test_engine.py tests/nmbr9/test_engine.py tests/nmbr9/test_observation.py tests/nmbr9/test_table.py

test-bounds: $(ready)  ## play and train with bounds checks in all compiled code
	NUMBA_BOUNDSCHECK=1 $(python) -m pytest --numprocesses 2 --dist loadfile -m bounds

test-gymnasium-1.2: $(old_gymnasium)/ready  ## run the tests of the environments with the oldest supported Gymnasium
	$(old_gymnasium)/bin/python -m pytest \
		tests/envs tests/patchwork/test_environments.py tests/nmbr9/test_environments.py

mutants: $(ready)  ## see whether the tests find a hundred small faults (an hour)
	$(python) -m tools.mutants

# An environment that holds some packages of its own and finds all others in $(VENV).
define create_beside
	$(python) -m venv --clear $(1)
	$(1)/bin/python -m pip install --quiet --no-deps $(2)
	@folder=$$($(python) -c "$(print_packages)"); \
	echo "import site; site.addsitedir('$$folder')" > "$$($(1)/bin/python -c "$(print_packages)")/base.pth"
	@touch $@
endef

$(old_gymnasium)/ready: $(ready)
	$(call create_beside,$(old_gymnasium),gymnasium==$(OLD_GYMNASIUM))

# The page without a server; it needs Node.js and LLVM's linker for WebAssembly, and says so.
site: $(ready)  ## build the page that plays without a server, in site/, and compare its moves with the package's
	$(python) -m tools.site

$(addprefix test-,$(with_libraries)): test-%: $(VENV)-%/ready
	$(VENV)-$*/bin/python -c "$(foreach name,$(libraries_$*),import $(name);)"
	$(VENV)-$*/bin/python -m pytest -m $* $$(grep -rl --include='test_*.py' 'mark\.$*' tests)

$(addsuffix /ready,$(addprefix $(VENV)-,$(with_libraries))): $(VENV)-%/ready: $(ready) requirements-%.lock
	$(call create_beside,$(VENV)-$*,--requirement requirements-$*.lock)

test-ray: kill-with-ray
kill-with-ray: $(VENV)-ray/ready
	$(VENV)-ray/bin/python -m tests.attack kill_sweep kill_rllib_ppo --attempts 1 --workers 1

test-browser: site

# Other packages' warnings about each other are errors only with the versions of requirements.lock.
test-resolution: $(resolved)/ready  ## run the suite with the oldest (or RESOLUTION=highest: newest) packages allowed
	$(resolved)/bin/python -m pytest --override-ini filterwarnings= --numprocesses 2 --dist loadfile

$(resolved)/ready: pyproject.toml tools/create_resolved_environment.sh
	@PYTHON="$(PYTHON)" tools/create_resolved_environment.sh $(resolved) $(RESOLUTION)
	@touch $@

lint: $(ready)  ## check style and types
	$(python) -m ruff check
	$(python) -m ruff format --check
	$(python) -m mypy

format: $(ready)  ## repair what the style check can repair
	$(python) -m ruff check --fix
	$(python) -m ruff format

bench: $(ready)  ## measure start-up, speed and strength
	@for name in $(BENCHMARKS); do echo "== benchmarks/$$name.py"; $(python) benchmarks/$$name.py; done
	$(python) benchmarks/engine.py --game nmbr9

benchmark: $(ready)  ## check the files in benchmarks/results, and make docs/benchmark_results.md of them
	$(python) benchmarks/benchmark.py --write

clean:  ## delete caches and build results (environments and training runs stay)
	find . -path './.venv*' -prune -o -name __pycache__ -type d -print0 | xargs -0 rm -rf
	rm -rf build dist site .coverage .coverage.* htmlcov .hypothesis .mypy_cache .pytest_cache .ruff_cache

distclean: clean  ## also delete the environments
	rm -rf $(VENV) $(VENV)-*
