# Two commands matter: `make run` (the main job, no hardware) and `make test`. Each installs what it needs, once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# Some containers forbid Python to keep what it has compiled: each command and test would read all sources anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: page-libraries run run-realtime test test-all docs docs-short release-check test-oldest bench soak fuzz mutants lint format clean
.PHONY: test-ready lint-ready docs-ready release-ready
.DELETE_ON_ERROR:

# An environment whose interpreter is gone (half deleted, moved) heals itself.
ifneq ($(shell $(BIN)/python -c 'print(1)' 2>/dev/null),1)
.PHONY: $(READY)
endif

$(READY): pyproject.toml constraints.txt
	@echo "installing into $(VENV): a minute or two, 700 MB"
	@.ci/install $(VENV) "$(PYTHON)"
	@touch $@

# Tools come beside it with the first target that uses them.
$(VENV)/.ready-%: $(READY)
	@echo "installing what is needed for: $*"
	@.ci/install $(VENV) 'riderless[$*]'
	@touch $@

# The site shows pages of optional parts, and a release is used as tests use it.
$(VENV)/.ready-docs $(VENV)/.ready-release: $(VENV)/.ready-test

test-ready lint-ready docs-ready release-ready: %-ready: $(VENV)/.ready-%

# First a result to look at; then the whole campaign, on a belt with edges, and one under another kind of drive. All three
# in simulated time: they end alike on every computer. Then a ride in real time, whose log is replayed: as this computer
# is now (exit code 3: it was too busy, and the ride has said so).
TOO_BUSY := 3
RIDE := runs/ride-$(shell date +%Y%m%d-%H%M%S)
run: $(READY)
	@echo "a first look: one bicycle, three kicks, in simulated time (before the first, everything is compiled: a minute or two)"
	$(BIN)/riderless campaign docs/campaigns/first_look.toml --out runs
	@echo "look at that report; meanwhile the whole campaign, on a belt with edges"
	$(BIN)/riderless campaign --lockstep --out runs
	@echo "and under a drive that obeys a steer rate"
	$(BIN)/riderless campaign docs/campaigns/rate_drive.toml --out runs
	@echo "and a ride in real time, with kicks: half a minute; then its log is replayed"
	$(BIN)/riderless run --emulated --host-delays --out $(RIDE) || [ $$? = $(TOO_BUSY) ]
	$(BIN)/riderless replay $(RIDE)/*

# The whole campaign in real time: some four minutes of a computer that has little else to do.
run-realtime: $(READY)
	$(BIN)/riderless campaign --out runs/realtime || [ $$? = $(TOO_BUSY) ]

# A file's tests stay with one worker, so that what they share is made once; in their order, for the long files come early.
# Two workers more than two processors: some tests wait for processes, disks and browsers.
# Real-time tests come last. They mostly wait: a ride takes a quarter of a processor with its bicycle. Each is judged beside
# a floor measured in the same seconds, and tried again where the computer starved it.
SPREAD := --dist loadfile --no-loadscope-reorder
WORKERS := -n 4 $(SPREAD)
REALTIME_WORKERS := -n 3 $(SPREAD)

test: $(VENV)/.ready-test
	$(BIN)/python -m pytest -rs $(WORKERS) -m "not slow and not realtime"
	$(BIN)/python -m pytest -rs $(REALTIME_WORKERS) -m "realtime and not slow"

test-all: $(VENV)/.ready-test
	$(BIN)/python -m pytest -rs $(WORKERS) -m "not realtime"
	$(BIN)/python -m pytest -rs $(REALTIME_WORKERS) -m realtime

# The site, in build/site. `docs-short` runs only the short examples of its gallery.
docs: $(VENV)/.ready-docs
	GALLERY=all $(BIN)/sphinx-build -W --keep-going -q -j 2 -d build/site-state docs build/site
	$(BIN)/python -m tests.tools.offline build/site
	@echo "the site: build/site/index.html"

docs-short: $(VENV)/.ready-docs
	GALLERY=short $(BIN)/sphinx-build -W --keep-going -q -j 2 -d build/site-state docs build/site
	$(BIN)/python -m tests.tools.offline build/site

# Wheel and sdist built, checked, installed in empty environments of each Python found, and used. Publishes nothing.
release-check: $(VENV)/.ready-release
	$(BIN)/python -m tests.tools.release

# The lowest versions that pyproject.toml allows, in an environment of their own.
test-oldest:
	$(PYTHON) -m venv --clear build/oldest
	build/oldest/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-oldest.txt -e '.[test]'
	build/oldest/bin/python -m pytest -rs $(WORKERS) -m "not slow and not realtime" tests/models tests/firmware_interface tests/hil tests/experiments/analysis

# The two libraries of the live page, from npm, as they lie in experiments/live/page/vendor; only to take newer ones. Wants Node.
page-libraries:
	cd tests/tools/page_libraries && npm ci --no-audit --no-fund && npm run --silent build

bench: $(VENV)/.ready-test
	$(BIN)/python -m tests.tools.bench
	$(BIN)/python -m tests.tools.bench_live
	$(BIN)/python -m tests.tools.bench_page

soak: $(VENV)/.ready-test
	$(BIN)/python -m tests.tools.soak --minutes 30

fuzz: $(VENV)/.ready-test
	$(BIN)/python -m tests.tools.fuzz --bytes 1e8
	$(BIN)/python -m tests.tools.fuzz_devices --bytes 1e6
	$(BIN)/python -m tests.tools.fuzz_files --mutants 1e5

# make mutants ARGS="--only hil/loop/tick.py --jobs 2"
mutants: $(VENV)/.ready-test
	$(BIN)/python -m tests.tools.mutants $(ARGS)

# Import-linter and mypy look for packages in folders of their names: links beside each other are that.
LINKED := riderless/__init__.py riderless/__main__.py models firmware_interface hil experiments
lint: $(VENV)/.ready-lint
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	@mkdir -p build/links/riderless && ln -sfn $(addprefix $(CURDIR)/,$(LINKED)) build/links/riderless
	cd build/links && $(CURDIR)/$(BIN)/lint-imports ../../.importlinter --no-logo --no-cache
	$(BIN)/python -m tests.tools.lint
	cd build/links && $(CURDIR)/$(BIN)/mypy --config-file ../../pyproject.toml

format: $(VENV)/.ready-lint
	$(BIN)/ruff check --fix . && $(BIN)/ruff format .

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache build *.egg-info
	find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +
