# Everything a newcomer needs: `make demo` and `make test` set up .venv on their own.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow docs site pictures fuzz sbom lock lint types layers format web clean
MINUTES ?= 1

help:  ## list the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

$(STAMP): pyproject.toml lab/pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]' -e lab
	touch $@

demo: $(STAMP)  ## train on real movie reviews and write demo/index.html
	$(BIN)/protorynet demo

test: lint types layers  ## lint, types, layering and the test suite
	$(BIN)/python -m pytest -n auto --dist loadfile

test-slow: $(STAMP)  ## the tests that take minutes
	$(BIN)/python -m pytest -m slow

fuzz: $(STAMP)  ## MINUTES of mutated input for every parser of untrusted bytes
	$(BIN)/python tests/fuzz/fuzzing.py --minutes $(MINUTES)

sbom: $(STAMP)  ## print the bill of materials (CycloneDX) of what is installed
	@$(BIN)/python tools/supply_chain.py sbom

lock: $(STAMP)  ## write requirements.lock: versions and hashes of all that users install
	$(BIN)/python -m pip install --dry-run --ignore-installed --quiet --report $(VENV)/report.json \
	    -c constraints.txt '.[demo,excel,onnx,png,server]' alembic matplotlib pg8000 sqlalchemy
	$(BIN)/python tools/supply_chain.py lock $(VENV)/report.json > requirements.lock

docs: $(STAMP)  ## run all code of the documentation, and build the site into site/
	$(BIN)/python -m pytest -m slow -n auto tests/docs/test_code_of_docs.py
	$(MAKE) site

site: $(STAMP)  ## run the notebooks, and build the site into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

pictures: demo  ## take the pictures of README and docs again, and README's example (needs Chromium)
	$(BIN)/python tools/pictures.py

lint: $(STAMP)  ## ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)  ## mypy strict
	$(BIN)/mypy

layers: $(STAMP)  ## import-linter
	$(BIN)/lint-imports --no-cache

format: $(STAMP)  ## rewrite the code in the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

web:  ## test and build the workbench into the package (needs Node)
	cd web && npm ci && npm test && npm run build

clean:  ## remove the environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache
