# Bough: `make run` starts it and `make test` runs its tests. Both first set up everything they need in .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
LOCK := packaging/requirements.lock
SOURCES := app worker packaging tests
# Three processes, because tests wait for events for a part of their time. Each runs whole files, whose tests share a
# window or a worker process. Files start in the order of their collection (tests/conftest.py).
# If a test process crashes, it is not restarted and the run fails.
PYTEST := $(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder --max-worker-restart 0

# Python keeps the modules that it compiles, also where the user's environment forbids it. The tests start hundreds of
# processes, and each would compile its modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help run starter test test-real test-long test-long-part test-kernels check lint format setup bench tour pictures readme-pictures guide-model translations lock wheel try-wheel bundle lock-bundle clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 17

setup: $(READY) ## Set up the virtual environment

$(READY): $(LOCK) pyproject.toml packaging/setup.sh
	@PYTHON="$(PYTHON)" packaging/setup.sh "$(VENV)" "$(LOCK)"
	@touch $@

run: $(READY) ## Start Bough, the first time with a small real model (without a display: play the tour)
	@packaging/run.sh "$(BIN)/python"

starter: $(READY) ## Fetch SmolLM2, a small real model (93 MB), also if it was removed
	@$(BIN)/python packaging/starter.py --again --limit 3600

test: $(READY) ## Run the test suite without a display
	@packaging/test_tools.sh
	@QT_QPA_PLATFORM=offscreen $(PYTEST) -m "not long and not real"

test-real: $(READY) ## Run the proofs on real weights, which need the starter model
	@QT_QPA_PLATFORM=offscreen $(BIN)/python -m pytest tests/real -m "not long" --timeout 1800 -rP

test-long: $(READY) ## Run what takes long: more rounds of random tests, and tests of minutes each
	@QT_QPA_PLATFORM=offscreen $(PYTEST) -m long --timeout 3600

test-long-part: $(READY) ## Run as many of the long tests as MINUTES allow (8), in an order that each commit changes
	@seed=$$(git rev-parse HEAD 2>/dev/null || echo 0); echo "Long tests, in the order of the seed $$seed"; \
	QT_QPA_PLATFORM=offscreen $(PYTEST) -p tests.part_of_long -m long --dist loadgroup --no-loadscope-reorder \
	  --timeout 1200 --minutes $(or $(MINUTES),8) --seed $$seed

test-kernels: $(READY) ## Run the worker's tests with each OpenBLAS kernel that this CPU can run
	@QT_QPA_PLATFORM=offscreen packaging/test_kernels.sh $(PYTEST) -m "not long and not real"

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/basedpyright

check: lint test ## Run all checks: lint, format, types, imports, tests

format: $(READY) ## Format the code and apply automatic fixes
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY) ## Compare with other programs; ONLY=area runs one area, LONG=1 adds the long benchmarks
	@QT_QPA_PLATFORM=offscreen $(BIN)/python -m tests.benchmarks $(if $(ONLY),--only $(ONLY)) $(if $(LONG),--long)

tour: $(READY) ## Play the tour of the main features; screenshots and transcript go to build/tour
	@$(BIN)/python -m app tour --out build/tour

pictures: $(READY) ## Take screenshots in both themes, at two sizes and scales, into build/pictures
	@QT_QPA_PLATFORM=offscreen $(BIN)/python -m tests.pictures build/pictures
	@QT_QPA_PLATFORM=offscreen QT_SCALE_FACTOR=2 $(BIN)/python -m tests.pictures build/pictures/200

readme-pictures: tour ## Update README's pictures from the tour
	@$(BIN)/python packaging/readme_pictures.py build/tour resources/pictures

guide-model: $(READY) ## Retrain the built-in model and measure its accuracy (about 80 minutes)
	$(BIN)/python packaging/guide_model/train.py
	$(BIN)/python packaging/guide_model/evaluate.py

translations: $(READY) ## Update the .ts files for the translators and compile them for Qt
	@$(BIN)/python packaging/translations.py

lock: $(READY) ## Update the locked versions of all dependencies
	$(BIN)/uv pip compile pyproject.toml --universal --python-version 3.11 --group dev \
	  --generate-hashes --no-emit-index-url --no-header --no-annotate --upgrade -o $(LOCK)

wheel: $(READY) ## Build the wheels, for the CPU or Metal and for CUDA, in dist/
	@packaging/wheels.sh $(BIN)/python dist

try-wheel: ## Install the wheel into empty environments with pip, pipx and uv, and try it (SUITE=trixie: in a Debian)
	@packaging/try_wheel.sh $(if $(SUITE),--debian $(SUITE),$(PYTHON)) build/try-wheel

bundle: ## Build the program that people install, with everything inside, in dist/
	@$(PYTHON) packaging/bundle/build.py

lock-bundle: $(READY) ## Update the locked versions of what goes into the bundle to those of `make lock`
	$(BIN)/uv pip compile pyproject.toml --universal --python-version 3.11 --group bundle \
	  --generate-hashes --no-emit-index-url --no-header --no-annotate -c $(LOCK) -o packaging/bundle/requirements.lock

clean: ## Remove everything that make created
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find $(SOURCES) -name __pycache__ -prune -exec rm -rf {} +
