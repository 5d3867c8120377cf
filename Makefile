# `make demo` and `make test` need only Python 3.10-3.13, pip and gcc; the first of them sets up .venv, once.
BIN := .venv/bin
READY := .venv/.ready
PYTEST_ARGS ?=
WORKERS ?= 2

.PHONY: help demo test lint type cov jaeger bench bench-quick transparency clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 15

$(READY): pyproject.toml constraints.txt packaging/thunder_otel.pth scripts/bootstrap.sh
	scripts/bootstrap.sh

demo: $(READY) ## train a small GPT with every compile stage recorded
	THUNDER_DEBUG=nvfuser_code OTEL_TRACES_EXPORTER=thunder_files,thunder_console $(BIN)/python examples/gpt_train.py

# pytest stands last: its closing line ends the output.
test: lint type ## everything that must pass: lint, types, tests, coverage
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --cov --cov-report=term $(PYTEST_ARGS)

lint: $(READY) ## ruff and the import contracts
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports

type: $(READY) ## mypy --strict
	$(BIN)/mypy

cov: $(READY) ## tests, with the lines they miss in htmlcov/
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --cov --cov-report=html $(PYTEST_ARGS)

jaeger: ## build Jaeger (needs Go) and start it on loopback
	scripts/jaeger.sh start

# Only these two need more than `make test`; some of thunder's tests cannot be collected by pytest 9.
.venv/.%: $(READY)
	$(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt --editable '.[$*]'
	$(if $(filter transparency,$*),$(BIN)/python -m pip --disable-pip-version-check install --quiet --no-deps --upgrade \
		--target .venv/pytest8 'pytest<9')
	touch $@

bench: .venv/.bench ## what recording costs, as ratios; minutes
	$(BIN)/python benchmarks/run.py

bench-quick: $(READY) ## the same in under a minute
	$(BIN)/python benchmarks/run.py --quick

transparency: .venv/.transparency ## thunder's own tests, bare and recorded, must end the same
	$(BIN)/python scripts/transparency.py

clean: ## remove .venv and all that the targets above left
	rm -rf .venv .cache .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache \
		dist htmlcov thunder_debug torch_compile_debug
