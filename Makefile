# Every target sets up what it needs: a virtual environment in .venv and the packages; for Spark and
# Hive it looks for Java and fetches Hive's jars.
PYTHON ?= python3
# An image may have set it; then each of some hundred processes would compile all packages again.
unexport PYTHONDONTWRITEBYTECODE
BIN := .venv/bin
READY := .venv/ready
HIVE_READY := .venv/hive-ready
ARCHIVES := .venv/class-archives/ready
DOCS_READY := .venv-docs/ready

# Branches of the adapter's code that the three kinds of tests together reach, in percent.
COVERAGE_FLOOR := 96
# Tests that can run in another Hive (`make long HIVE=3.1.3`).
HISTORIES := integration/test_random_histories.py integration/test_incremental_histories.py
# Other versions of PySpark that the cut of `make spark` runs on.
SPARKS ?= 3.5.9 4.0.5 4.2.1 4.3.0
# Other versions of dbt-core that the cut of `make dbt` runs on.
DBTS ?= 1.10.23 1.12.6
PYTEST := $(BIN)/python -m pytest
# Each kind of tests has a file of its own: kinds that run side by side do not write into one.
MEASURED = COVERAGE_FILE=.coverage.$@ $(PYTEST) --cov --cov-report=
# Processes that tests run in, each with a Spark, and a Hive of 1 GB where they need one: 3.5 GB.
# With Hive each waits a third of its time: three of them fill two cores, also when those without
# are done. More would only take their time to get warm.
WORKERS ?= 3
FUNCTIONAL_WORKERS ?= 1
# Without Java.
UNIT_WORKERS ?= 2
# In the order of the files a class of minutes does not come last, alone.
BY_CLASS := --dist loadscope --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help setup wheels quickstart test lint format reference docs unit functional integration long conformance spark dbt benchmark coverage clean

help: ## Show the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

setup: $(HIVE_READY) ## Set up only

$(READY): tools/bootstrap.py setup.py hiveacid/pyproject.toml hiveacid/version.py requirements-dev.txt constraints.txt
	@$(PYTHON) tools/bootstrap.py packages

$(HIVE_READY): $(READY) integration/support/hive/hive-4.0.1.lock
	@$(PYTHON) tools/bootstrap.py hive

# Java starts from them in two thirds of the time; without them it starts, too.
$(ARCHIVES): $(HIVE_READY) integration/support/class_archives.py integration/support/class_recordings.py
	@$(BIN)/python -m integration.support.class_recordings
	@touch $@

wheels: $(READY) ## Build the distributions hiveacid and dbt-hiveacid into dist/
	$(BIN)/python -m build --no-isolation --outdir dist hiveacid
	$(BIN)/python -m build --no-isolation --outdir dist .

quickstart: $(HIVE_READY) ## See dbt read tables that a real Hive writes, updates and compacts (SPARK=, HIVE=)
	@$(BIN)/python -m $(if $(SPARK),tools.spark_line $(SPARK) --run )examples.quickstart $(if $(HIVE),--hive $(HIVE))

# First what fails within two minutes; Hive's jars come meanwhile. Then tests with Hive, and next to
# them those without; a failure of one does not hide those of the other.
test: $(READY) ## All checks and tests but the long ones
	@rm -f .coverage .coverage.*
	@$(MAKE) --no-print-directory -j 3 lint unit $(ARCHIVES)
	@$(MAKE) --no-print-directory -j 2 --keep-going integration functional
	@$(MAKE) --no-print-directory coverage
	@echo "All checks passed. To work on the code, read CONTRIBUTING.md; to see it at work: make quickstart"

lint: $(READY) ## Static checks, without Java: ruff, mypy, who may import whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m tools.import_rules
	$(BIN)/mypy

format: $(READY) ## Put the code into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

reference: $(READY) ## Write docs/configuration.md, docs/api.md and the versions in docs/install.md from the code
	$(BIN)/python -m tools.configuration_reference
	$(BIN)/python -m tools.api_reference
	$(BIN)/python -m tools.support_matrix

$(DOCS_READY): requirements-docs.txt
	@$(PYTHON) -m venv .venv-docs
	@.venv-docs/bin/python -m pip install -q -r requirements-docs.txt
	@touch $@

docs: $(DOCS_READY) ## Build the documents as a site in site/, with its links checked; open site/index.html
	@NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --strict

unit: $(READY) ## Tests without Java and network: seconds
	$(MEASURED) -n $(UNIT_WORKERS) tests/unit

functional: $(ARCHIVES) ## Tests on a local Spark, dbt's own with them but for what `make conformance` adds
	$(MEASURED) -n $(FUNCTIONAL_WORKERS) $(BY_CLASS) -m "not conformance" tests/functional

integration: $(ARCHIVES) ## Tests against a real Hive
	$(MEASURED) -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m "not long" integration

long: $(ARCHIVES) ## Tests against a real Hive that take minutes each; with HIVE=3.1.3 random histories in that Hive
	$(if $(HIVE),HISTORIES_HIVE=$(HIVE) $(PYTEST) -m long $(HISTORIES),$(PYTEST) -m long integration)
	$(if $(HIVE),,HISTORIES_COMPACTION=query HISTORIES_MINUTES=30 INCREMENTAL_HISTORIES=12 $(PYTEST) -m long $(HISTORIES))

conformance: $(ARCHIVES) ## All of dbt's own adapter tests, on every format; writes docs/conformance.md
	$(PYTEST) -n $(WORKERS) $(BY_CLASS) tests/functional/conformance

spark: $(HIVE_READY) ## A cut of the tests on other Sparks: the newest 3.5 and the newest 4 (SPARKS=)
	$(BIN)/python -m tools.spark_line $(SPARKS)

dbt: $(HIVE_READY) ## A cut of the tests on other dbt-cores: the oldest and the newest line (DBTS=)
	$(BIN)/python -m tools.dbt_line $(DBTS)

benchmark: $(HIVE_READY) ## What reading ACID tables costs beside flat ORC, planning, incremental runs, start-up
	$(BIN)/pip install -q -r benchmarks/requirements.txt
	$(BIN)/python -m benchmarks.lineitem
	$(BIN)/python -m benchmarks.planning
	$(BIN)/python -m benchmarks.incremental
	$(BIN)/python -m benchmarks.start_up

coverage: $(READY)
	$(BIN)/coverage combine --keep --quiet
	$(BIN)/coverage report --skip-covered --fail-under=$(COVERAGE_FLOOR)

clean: ## Remove what the targets made here (the cache of Hive's jars stays)
	rm -rf .venv .venv-docs site .spark .dbt build dist *.egg-info .coverage .coverage.* .mypy_cache .pytest_cache .ruff_cache .hypothesis
	rm -rf examples/quickstart/target examples/quickstart/logs
