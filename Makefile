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
ROW ?= quick
ATTACK_ATTEMPTS ?= 10
ATTACK_SEED ?= $(strip $(shell od -An -N4 -tu4 /dev/urandom))
ATTACK ?= attack
PYTEST_OPTIONS ?=
BENCHMARKS ?= startup engine environments strength mcts search champion analysis training_speed inference
RESOLUTION ?= lowest-direct
TEST ?= tests/patchwork
UPGRADE ?= --upgrade

python := $(VENV)/bin/python
ready := $(VENV)/ready
pytest := -m pytest --numprocesses 2 --dist loadfile
# Numba's cache lies beside the sources, where `make clean` finds it, and so does bytecode: images of Python tell the
# interpreter to write none, and each of the thousands of processes of the tests would compile all sources again.
export NUMBA_CACHE_DIR :=
export PYTHONDONTWRITEBYTECODE :=

extras := play train onnx export render dev
extras_libraries := open_spiel torchrl minari mcp hub wandb proofs
extras_older := ray openenv
# What tests import, so that none of them is left out because something is missing.
imports_libraries := array_api_compat huggingface_hub mcp minari mlflow moviepy ortools playwright pyspiel \
	tianshou torchrl wandb
imports_jax := flax jax mctx optax pgx
imports_older := agilerl openenv ray

.PHONY: help environment lock train test test-one test-all test-attack test-bounds coverage mutants test-libraries \
	test-jax test-older test-browser test-resolution site docs lint format bench figures figures-all benchmark reproduce clean distclean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z][a-z0-9.-]*:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' Makefile

environment: $(ready)  ## create the virtual environment and install everything

$(ready): requirements.lock pyproject.toml tools/create_environment.sh
	@PYTHON="$(PYTHON)" TORCH_INDEX="$(TORCH_INDEX)" tools/create_environment.sh $(VENV) $<
	@touch $@

# Environments of other libraries, which share the PyTorch of $(VENV).
$(VENV)-%/ready: requirements-%.lock $(ready)
	@tools/create_environment.sh $(VENV)-$* $< $(VENV)
	@touch $@

lock: $(ready)  ## renew all locks (UPGRADE= keeps the versions that still fit)
	$(call write_lock,requirements.lock,$(extras),)
	$(call write_lock,requirements-libraries.lock,$(extras) $(extras_libraries),--group libraries --group docs)
	$(call write_lock,requirements-jax.lock,train dev pgx,--no-config --fork-strategy fewest --group jax)
	$(call write_lock,requirements-older.lock,$(extras) $(extras_older),--group older)

# What PyTorch needs of CUDA depends on its build, so it is left to pip.
define write_lock
	$(VENV)/bin/uv pip compile pyproject.toml $(addprefix --extra ,$(2)) $(3) $(UPGRADE) \
		--universal --python-version 3.11 --generate-hashes --no-annotate --no-header --quiet --output-file $(1)
	sed -E '/^(cuda|nvidia|triton)/,/[^\\]$$/d' $(1) > $(1).new && mv $(1).new $(1)

endef

train: export run := $(RUN)
train: $(ready)  ## train a first policy by self-play (minutes) and measure it against random and greedy
	@if [ -e "$$run" ]; then echo "$$run exists already: name another folder with RUN=" >&2; exit 1; fi
	$(python) -m training.train --config $(CONFIG) --run-dir "$$run"
	$(python) -m training.evaluate "$$run/final" --against random greedy --games $(GAMES)

test: $(ready)  ## run the tests of what a change can easily break, in minutes
	$(python) $(pytest) -m "not slow" $(PYTEST_OPTIONS)

test-one: $(ready)  ## run the tests of one folder or file: TEST=tests/nmbr9
	$(python) $(pytest) -m "not slow" $(TEST) $(PYTEST_OPTIONS)

test-all: test  ## run all tests that need no other library, then measure how much of the rules they reach
	$(python) $(pytest) -m slow $(PYTEST_OPTIONS)
	@$(MAKE) --no-print-directory coverage

test-attack: $(ready)  ## try to break everything ATTACK_ATTEMPTS times: odd inputs, kills, interrupts …
	ulimit -d 8388608; ATTACK_ATTEMPTS=$(ATTACK_ATTEMPTS) ATTACK_SEED=$(ATTACK_SEED) $(python) -m pytest --numprocesses 2 \
		-o faulthandler_timeout=300 -o faulthandler_exit_on_timeout=true tests/attack -k "$(ATTACK)" $(PYTEST_OPTIONS)

# Numba's machine code has no lines to count, so the rules run as plain Python here.
coverage: $(ready)  ## run the tests of the rules without compilation: every line of the engine must be reached
	NUMBA_DISABLE_JIT=1 $(python) -m pytest --cov --cov-report=term-missing \
		-W "ignore:overflow encountered:RuntimeWarning" -k "not always_left and (row or not our_games)" \
		tests/test_testing.py tests/patchwork/test_engine.py tests/nmbr9/test_engine.py tests/nmbr9/test_observation.py tests/nmbr9/test_table.py
	NUMBA_DISABLE_JIT=1 $(python) -m pytest -W "ignore:overflow encountered:RuntimeWarning" \
		-k evaluation_against tests/agents/patchwork/test_value.py tests/agents/nmbr9/test_value.py

test-bounds: $(ready)  ## play and train with bounds checks in all compiled code
	NUMBA_BOUNDSCHECK=1 $(python) $(pytest) -m bounds

mutants: $(ready)  ## see whether the tests find forty small faults in each folder (five hours)
	$(python) -m tools.mutants

# The page without a server; it needs Node.js and LLVM's linker for WebAssembly, and says so.
site: $(ready)  ## build the page that plays without a server, in site/, and compare its moves with the package's
	$(python) -m tools.site

test-libraries: $(VENV)-libraries/ready  ## run the tests that need other libraries
	$(VENV)-libraries/bin/python -c "$(foreach name,$(imports_libraries),import $(name);)"
	$(VENV)-libraries/bin/python $(pytest) -m libraries

# JAX has an environment of its own: others leave out what they would bring of it.
test-jax: $(VENV)-jax/ready  ## run the tests that need JAX and Pgx
	$(VENV)-jax/bin/python -c "$(foreach name,$(imports_jax),import $(name);)"
	$(VENV)-jax/bin/python $(pytest) -m jax

test-older: $(VENV)-older/ready  ## run those with Ray, OpenEnv and AgileRL, which need older versions, and those of environments
	$(VENV)-older/bin/python -c "$(foreach name,$(imports_older),import $(name);)"
	$(VENV)-older/bin/python -m pytest -m older
	$(VENV)-older/bin/python $(pytest) -m "not slow" tests/envs

test-browser: $(VENV)-libraries/ready site  ## drive the page in Chromium, with a server and without, and the documents
	@$(MAKE) --no-print-directory docs
	$(VENV)-libraries/bin/python -m pytest -m browser tests/browser

# Other packages' warnings about each other are errors only with the versions of requirements.lock.
test-resolution: $(ready)  ## run all tests with the oldest (or RESOLUTION=highest: newest) packages allowed
	$(VENV)/bin/uv venv --clear --python $(python) $(VENV)-$(RESOLUTION)
	$(VENV)/bin/uv pip install --python $(VENV)-$(RESOLUTION) --resolution $(RESOLUTION) \
		--editable ".[play,train,onnx,export,render,dev]"
	$(VENV)-$(RESOLUTION)/bin/python $(pytest) --override-ini filterwarnings=

lint: $(ready)  ## check style, words and types
	$(python) -m ruff check
	$(python) -m ruff format --check
	$(python) -m tools.plain_english
	$(python) -m codespell_lib
	$(python) -m mypy

format: $(ready)  ## repair what the style check can repair
	$(python) -m ruff check --fix
	$(python) -m ruff format

bench: $(ready)  ## measure start-up, speed and strength
	@for name in $(BENCHMARKS); do echo "== benchmarks/$$name.py"; $(python) benchmarks/$$name.py; done
	$(python) benchmarks/engine.py --game nmbr9

# Tutorials run while it is built, if they have changed; what `make site` has made is put into it. Sphinx forgets words
# of the search whose pages it does not read anew.
docs: $(VENV)-libraries/ready  ## build the site of documents in docs/_build/html; warnings are errors
	$(VENV)-libraries/bin/python -m sphinx --fresh-env --fail-on-warning --keep-going --quiet docs docs/_build/html

# What takes no more than minutes; benchmarks/figures/README.md says what does.
figures: $(ready)  ## measure the figures of the pages again, without those that take long, and fill their tables
	$(python) benchmarks/engine.py --write
	$(python) benchmarks/engine.py --game nmbr9 --write
	$(python) benchmarks/environments.py --write
	$(python) benchmarks/interfaces.py --write
	$(python) benchmarks/startup.py import "first move of a game" champion:instant --write
	$(python) benchmarks/champion.py --games 0 --self-play 0 --write
	$(python) benchmarks/mcts.py --endings 0 --games 0 --write
	$(python) benchmarks/analysis.py --write
	for threads in 1 2; do for values in "" "--set ppo.lookahead_from=0"; do \
		$(python) benchmarks/training_speed.py --config configs/ppo.yaml $$values --threads $$threads --write; done; done
	$(python) benchmarks/inference.py --write
	$(python) benchmarks/sequential.py --write
	$(python) -m tools.figures

figures-all: $(VENV)-libraries/ready $(VENV)-jax/ready $(VENV)-older/ready  ## and those that take hours, and the pictures of the page
	$(VENV)-libraries/bin/python benchmarks/interfaces.py --write
	$(VENV)-older/bin/python benchmarks/interfaces.py --write
	@$(MAKE) --no-print-directory figures  # writes the interfaces of this environment last
	$(python) benchmarks/memory.py --write
	$(python) benchmarks/maskable_ppo.py --write
	$(python) benchmarks/champion.py --games 0 --self-play 200 --write
	$(python) benchmarks/calibration.py --seed 20000 --workers 2 --write
	$(python) benchmarks/sb3_budgets.py --write
	$(python) benchmarks/install_sizes.py --write
	$(VENV)-libraries/bin/python benchmarks/open_spiel_games.py --write
	for game in patchwork nmbr9; do $(VENV)-libraries/bin/python benchmarks/torchrl_speed.py --game $$game --write; done
	$(python) benchmarks/startup.py play --write
	taskset -c 0 $(VENV)-jax/bin/python benchmarks/jax_speed.py --write
	$(python) benchmarks/benchmark.py --write
	$(VENV)-libraries/bin/python -m tools.page_pictures --out docs/images
	$(python) -m tools.figures

benchmark: $(ready)  ## check the files in benchmarks/results, and make the tables and pages of docs/measure/results.md
	$(python) benchmarks/benchmark.py --write
	$(python) -m tools.figures

reproduce: $(ready)  ## repeat the first run of a row of docs/measure/results.md, and compare it: ROW=quick
	$(python) benchmarks/rows.py $(ROW) --compare --runs runs/reproduced

clean:  ## delete caches and build results (environments and training runs stay)
	find . -path './.venv*' -prune -o -name __pycache__ -type d -print0 | xargs -0 rm -rf
	rm -rf build dist site .coverage .coverage.* htmlcov .hypothesis .mypy_cache .pytest_cache .ruff_cache

distclean: clean  ## also delete the environments
	rm -rf $(VENV) $(VENV)-*
