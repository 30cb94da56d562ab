# Bough: `make run` opens it, `make test` tests it. Both set up everything they need in .venv first.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
LOCK := packaging/requirements.lock
SOURCES := app worker packaging tests
# Two workers, a file each: the tests of a file share the window or the worker that it starts.
# A process of tests that crashes is not begun anew: the run says so and ends.
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile --max-worker-restart 0

.PHONY: help run test test-long check lint format setup bench tour pictures readme-pictures guide-model translations lock wheel clean

help: ## Say what there is to make
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 17

setup: $(READY) ## Set everything up

$(READY): $(LOCK) pyproject.toml packaging/setup.sh
	@PYTHON="$(PYTHON)" packaging/setup.sh "$(VENV)" "$(LOCK)"
	@touch $@

run: $(READY) ## Open Bough on the built-in model (without a display: play the tour)
	@packaging/run.sh "$(BIN)/python"

test: $(READY) ## Run the whole test suite, headless
	@packaging/test_tools.sh
	@QT_QPA_PLATFORM=offscreen $(PYTEST) -m "not long"

test-long: $(READY) ## Run the tests that take minutes each
	@QT_QPA_PLATFORM=offscreen $(PYTEST) -m long --timeout 3600

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/basedpyright

check: lint test ## Everything that must hold: lint, format, types, imports, tests

format: $(READY) ## Put the code in its form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY) ## Measure against the peers; ONLY=area runs one area, LONG=1 what takes long, too
	@QT_QPA_PLATFORM=offscreen $(BIN)/python -m tests.benchmarks $(if $(ONLY),--only $(ONLY)) $(if $(LONG),--long)

tour: $(READY) ## Let the window play its main steps; pictures and transcript in build/tour
	@$(BIN)/python -m app tour --out build/tour

pictures: $(READY) ## Take a picture of each state in both themes, at two sizes and scales; into build/pictures
	@QT_QPA_PLATFORM=offscreen $(BIN)/python -m tests.pictures build/pictures
	@QT_QPA_PLATFORM=offscreen QT_SCALE_FACTOR=2 $(BIN)/python -m tests.pictures build/pictures/200

readme-pictures: tour ## Take README's pictures anew, from the tour
	@$(BIN)/python packaging/readme_pictures.py build/tour resources/pictures

guide-model: $(READY) ## Train the built-in model anew and measure it (some 80 minutes)
	$(BIN)/python packaging/guide_model/train.py
	$(BIN)/python packaging/guide_model/evaluate.py

translations: $(READY) ## Collect all texts for the translators, and make what Qt reads of theirs
	@$(BIN)/python packaging/translations.py

lock: $(READY) ## Choose the exact versions of all dependencies anew
	$(BIN)/uv pip compile pyproject.toml --universal --python-version 3.11 --extra cpu --group dev \
	  --generate-hashes --no-emit-index-url --no-header --no-annotate --upgrade -o $(LOCK)

wheel: $(READY) ## Build the wheel in dist/
	$(BIN)/python -m hatchling build -t wheel

clean: ## Remove everything that was made here
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
