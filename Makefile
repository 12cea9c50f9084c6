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
BENCHMARKS ?= startup engine environments strength mcts search champion analysis training_speed inference
OLD_GYMNASIUM := 1.2.2
RESOLUTION ?= lowest-direct

python := $(VENV)/bin/python
ready := $(VENV)/ready
old_gymnasium := $(VENV)-gymnasium-$(OLD_GYMNASIUM)
tianshou := $(VENV)-tianshou
proofs := $(VENV)-proofs
ray := $(VENV)-ray
clients := $(VENV)-clients
browser := $(VENV)-browser
frameworks := $(VENV)-frameworks
openenv := $(VENV)-openenv
agilerl := $(VENV)-agilerl
resolved := $(VENV)-$(RESOLUTION)
# One that stands by itself would end a call of make's too late.
parenthesis := (
print_packages := import sysconfig; print(sysconfig.get_path('purelib'))
# Numba's cache lies beside the sources, where `make clean` finds it.
export NUMBA_CACHE_DIR :=

.PHONY: help environment train test test-attack test-bounds coverage test-gymnasium-1.2 test-tianshou test-proofs test-clients test-ray \
	test-frameworks test-openenv test-agilerl test-resolution test-browser site lint format bench benchmark clean distclean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z][a-z0-9.-]*:.*## / { printf "  make %-20s %s\n", $$1, $$2 }' Makefile

environment: $(ready)  ## create the virtual environment and install everything

$(ready): requirements.lock pyproject.toml tools/create_environment.sh
	@PYTHON="$(PYTHON)" TORCH_INDEX="$(TORCH_INDEX)" tools/create_environment.sh $(VENV)
	@touch $@

train: export run := $(RUN)
train: $(ready)  ## train a first policy by self-play (minutes) and measure it against random and greedy
	@if [ -e "$$run" ]; then echo "$$run exists already: name another folder with RUN=" >&2; exit 1; fi
	$(python) -m training.train --config $(CONFIG) --run-dir "$$run"
	$(python) -m training.evaluate "$$run/final" --against random greedy --games $(GAMES)

test: $(ready)  ## run the whole test suite, then measure how much of the rules it reaches
	$(python) -m pytest --numprocesses 2 --dist loadfile
	@$(MAKE) --no-print-directory coverage

test-attack: $(ready)  ## try to break everything for ATTACK_MINUTES: odd inputs, kills, interrupts …
	$(python) -m tests.attack --minutes $(ATTACK_MINUTES) $(if $(ATTACK_SEED),--seed $(ATTACK_SEED))

# Numba's machine code has no lines to count, so the rules run as plain Python here.
coverage: $(ready)  ## run the tests of the rules without compilation: every line of the engine must be reached
	NUMBA_DISABLE_JIT=1 $(python) -m pytest --cov --cov-report=term-missing \
		tests/patchwork/test_engine.py tests/nmbr9/test_engine.py

test-bounds: $(ready)  ## play and train with bounds checks in all compiled code
	NUMBA_BOUNDSCHECK=1 $(python) -m pytest --numprocesses 2 --dist loadfile tests/bounds \
		tests/patchwork/test_endgame.py tests/agents/patchwork/test_mlp.py tests/agents/nmbr9/test_beam.py tests/agents/nmbr9/test_policy.py

test-gymnasium-1.2: $(old_gymnasium)/ready  ## run the tests of the environments with the oldest supported Gymnasium
	$(old_gymnasium)/bin/python -m pytest \
		tests/envs tests/patchwork/test_environments.py tests/nmbr9/test_environments.py

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

# The test files that skip themselves without a library, or one of several, run in an environment that has it, and no
# others but those that are named beside.
define test_what_needs
	$(2)/bin/python -c "$(foreach name,$(1),import $(name);)"
	files=$$(grep -rlF --include='test_*.py' $(foreach name,$(1),-e 'importorskip$(parenthesis)"$(name)"') tests); \
	$(2)/bin/python -m pytest $$files $(3)
endef

test-tianshou: $(tianshou)/ready  ## run the tests of self-play with Tianshou
	$(call test_what_needs,tianshou,$(tianshou))

$(tianshou)/ready: $(ready) requirements-tianshou.lock
	$(call create_beside,$(tianshou),--requirement requirements-tianshou.lock)

test-proofs: $(proofs)/ready  ## run the tests of proofs with OR-Tools
	$(call test_what_needs,ortools,$(proofs))

$(proofs)/ready: $(ready) requirements-proofs.lock
	$(call create_beside,$(proofs),--requirement requirements-proofs.lock)

test-clients: $(clients)/ready  ## run the tests of tracking services' clients, offline, and of statistics against rliable
	$(call test_what_needs,wandb,$(clients))
	$(call test_what_needs,rliable.library,$(clients))

$(clients)/ready: $(ready) requirements-clients.lock
	$(call create_beside,$(clients),--requirement requirements-clients.lock)

test-frameworks: $(frameworks)/ready  ## run the tests with OpenSpiel, TorchRL, Minari, MCP, Hugging Face's Hub and SuperSuit
	$(call test_what_needs,pyspiel torchrl minari mcp huggingface_hub supersuit moviepy array_api_compat,$(frameworks),tests/integrations/test_pages.py)

$(frameworks)/ready: $(ready) requirements-frameworks.lock
	$(call create_beside,$(frameworks),--requirement requirements-frameworks.lock)

test-openenv: $(openenv)/ready  ## run the tests with OpenEnv
	$(call test_what_needs,openenv,$(openenv),tests/integrations/test_pages.py)

$(openenv)/ready: $(ready) requirements-openenv.lock
	$(call create_beside,$(openenv),--requirement requirements-openenv.lock)

test-agilerl: $(agilerl)/ready  ## run the tests with AgileRL, which are no part of .ci/run
	$(call test_what_needs,agilerl,$(agilerl))

$(agilerl)/ready: $(ready) requirements-agilerl.lock
	$(call create_beside,$(agilerl),--requirement requirements-agilerl.lock)

test-browser: site $(browser)/ready  ## drive the page in headless Chromium, with a server and without
	@command -v chromium > /dev/null || { echo "make test-browser: there is no Chromium: apt-get install chromium" >&2; exit 1; }
	$(call test_what_needs,playwright,$(browser))

$(browser)/ready: $(ready) requirements-browser.lock
	$(call create_beside,$(browser),--requirement requirements-browser.lock)

test-ray: $(ray)/ready  ## run the tests of clusters with Ray, and kill what needs it
	$(call test_what_needs,ray,$(ray))
	$(ray)/bin/python -m tests.attack kill_sweep kill_rllib_ppo --attempts 1 --workers 1

$(ray)/ready: $(ready) requirements-ray.lock
	$(call create_beside,$(ray),--requirement requirements-ray.lock)

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
	rm -rf $(VENV) $(old_gymnasium) $(tianshou) $(proofs) $(ray) $(clients) $(browser) $(frameworks) $(openenv) $(agilerl) \
		$(VENV)-lowest-direct $(VENV)-highest
