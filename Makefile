# Trainboard. `make up` runs everything here; `make check` is exactly what CI runs.
# Needs Python 3.11 or newer (PYTHON= picks another), pip, make and git; the rest is put into .venv.
PYTHON ?= python3
BIN := .venv/bin
LOCK := $(BIN)/pip-compile --generate-hashes --allow-unsafe --strip-extras --no-emit-index-url --no-emit-find-links --no-header --quiet
INSTALL := $(PYTHON) -m pip --python $(BIN)/python --disable-pip-version-check install --quiet --no-deps --require-hashes --requirement

WITHOUT_TEXTS := bench cli docs emulator examples jobs/migrations staticfiles tests var

.PHONY: up grpc otel simulate search test test-sqlite test-postgres test-journeys chaos truth check format lint bench lock machine messages screenshots clean

up: .venv/run.stamp ## the whole site on this machine: http://127.0.0.1:8000, PORT= moves it
	@exec $(BIN)/python manage.py up --follow $$PPID

grpc: .venv/run.stamp ## what the emulator needs to answer gRPC too; `make up` then does
	@$(INSTALL) requirements/grpc.txt

otel: .venv/run.stamp ## what sends OpenTelemetry traces; OTEL_EXPORTER_OTLP_ENDPOINT then turns them on
	@$(INSTALL) requirements/otel.txt

test: test-sqlite test-postgres test-journeys ## every test, on SQLite and on PostgreSQL

# Three processes on two cores where a third of the time is spent in waiting for servers and commands; two on PostgreSQL,
# whose server computes meanwhile.
test-sqlite: .venv/dev.stamp machine
	DATABASE_URL= $(BIN)/pytest -q -n 3 --both-databases-only -m "not stack and not browser and not chaos and not truth"

test-postgres: .venv/dev.stamp machine
	TRAINBOARD_TEST_POSTGRES=1 $(BIN)/pytest -q -n 2 -m "not browser and not truth" tests/domain tests/pages

test-journeys: .venv/dev.stamp machine
	DATABASE_URL= $(BIN)/pytest -q -n 3 --dist loadfile --no-loadscope-reorder -m "stack or browser"

chaos: .venv/dev.stamp machine ## a thousand submissions while everything is killed at random; about ten minutes
	DATABASE_URL= $(BIN)/pytest -q -s -m chaos tests/journeys

truth: .venv/dev.stamp machine ## what 500 jobs cost and were said to cost, against the emulator's record; a quarter of an hour
	DATABASE_URL= $(BIN)/pytest -q -s -m truth tests/domain

SEEDS ?= 100000
simulate: .venv/dev.stamp ## the submission protocol in virtual time, while everything fails; SEEDS= how often
	DATABASE_URL= $(BIN)/python -m tests.simulation --seeds $(SEEDS)

search: .venv/dev.stamp ## look for new counterexamples to the properties
	DATABASE_URL= $(BIN)/pytest -q -n 2 tests/unit --hypothesis-profile=search

check: lint test ## everything that CI asks for

lint: .venv/dev.stamp ## format, lint, types, import contracts, migrations
	$(BIN)/ruff format --check . && $(BIN)/ruff check . && $(BIN)/mypy && $(BIN)/lint-imports
	$(BIN)/python manage.py makemigrations --check --dry-run

format: .venv/dev.stamp ## rewrite the code in its one format
	$(BIN)/ruff format . && $(BIN)/ruff check --fix .

bench: .venv/dev.stamp ## races against peers, both sides in the same run
	@for race in bench/[a-z]*.py; do $(BIN)/python "$$race" || missed="$$missed $$race"; done; [ -z "$$missed" ] || { echo "missed a target:$$missed"; exit 1; }

lock: .venv/dev.stamp ## requirements/*.in -> requirements/*.txt; UPGRADE=--upgrade takes newer versions
	$(LOCK) $(UPGRADE) --output-file requirements/run.txt requirements/run.in
	$(LOCK) $(UPGRADE) --constraint requirements/run.txt --output-file requirements/dev.txt requirements/dev.in
	$(LOCK) --constraint requirements/dev.txt --output-file requirements/grpc.txt requirements/grpc.in
	$(LOCK) --constraint requirements/dev.txt --output-file requirements/otel.txt requirements/otel.in

machine: ## the programs that tests need beside Python
	@sh tests/machine.sh

messages: .venv/dev.stamp machine ## the texts of the code into dashboard/locale/*/LC_MESSAGES/django.po, and those compiled
	$(BIN)/python manage.py makemessages --all --no-obsolete --add-location file $(foreach each,$(WITHOUT_TEXTS),--ignore "$(each)/*")
	$(BIN)/python manage.py compilemessages --ignore ".*"

screenshots: .venv/dev.stamp machine ## docs/*.png from a running demo; ALL=FOLDER: every page into that folder
	$(BIN)/python -m docs.screenshots $(if $(ALL),--all "$(ALL)")

clean: ## remove what was installed; the data in var/ stays
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

# A stamp is newer than what it was made from, so a warm start installs nothing.
.venv/python.stamp:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Trainboard needs Python 3.11 or newer; choose one with PYTHON=python3.12")'
	@$(PYTHON) -m venv --clear --without-pip .venv
	@touch $@

.venv/run.stamp: requirements/run.txt | .venv/python.stamp
	@echo "Installing $< into .venv; this takes about half a minute and happens once."
	@$(INSTALL) $<
	@touch $@

.venv/dev.stamp: requirements/dev.txt | .venv/python.stamp
	@echo "Installing $< into .venv; this takes about half a minute and happens once."
	@$(INSTALL) $<
	@touch $@ .venv/run.stamp
