# Two commands matter: `make run` (the main job, no hardware) and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# Some containers forbid Python to keep what it has compiled: each command and test would read all sources anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: page-libraries run test test-all docs docs-ready docs-short release-check test-oldest bench soak fuzz mutants lint format clean
.DELETE_ON_ERROR:

# An environment whose interpreter is gone (half deleted, moved) heals itself.
ifneq ($(shell $(BIN)/python -c 'print(1)' 2>/dev/null),1)
.PHONY: $(READY)
endif

$(READY): pyproject.toml constraints.txt
	@echo "installing into $(VENV) ..."
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

# First a result to look at, in simulated time; then the whole campaign, in real time; then a belt with edges and another kind of drive.
run: $(READY)
	@echo "a first look: one bicycle, three kicks, in simulated time (the first time, compiling takes half a minute)"
	$(BIN)/riderless campaign docs/campaigns/first_look.toml --out runs
	@echo "look at that report; meanwhile the whole campaign, on a belt with edges, in real time: some four minutes"
	$(BIN)/riderless campaign --out runs
	@echo "and under a drive that obeys a steer rate, in simulated time: some twenty seconds"
	$(BIN)/riderless campaign docs/campaigns/rate_drive.toml --out runs

# A file's tests stay with one worker, so that what they share is made once; in their order, for the long files come early.
# Two workers more than two processors: some tests wait for processes, disks and browsers.
# Real-time tests come last. They mostly wait, so two at a time leave each a processor; each is judged beside a floor
# measured in the same seconds, and tried again where the computer starved it.
SPREAD := --dist loadfile --no-loadscope-reorder
WORKERS := -n 4 $(SPREAD)
REALTIME_WORKERS := -n 2 $(SPREAD)

test: $(READY)
	$(BIN)/python -m pytest $(WORKERS) -m "not slow and not realtime"
	$(BIN)/python -m pytest $(REALTIME_WORKERS) -m "realtime and not slow"

test-all: $(READY)
	$(BIN)/python -m pytest $(WORKERS) -m "not realtime"
	$(BIN)/python -m pytest $(REALTIME_WORKERS) -m realtime

# The site, in build/site. `docs-short` runs only the short examples of its gallery.
DOCS_READY := $(VENV)/.ready-docs
$(DOCS_READY): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	touch $@

docs-ready: $(DOCS_READY)

docs: $(DOCS_READY)
	GALLERY=all $(BIN)/sphinx-build -W --keep-going -q -j 2 -d build/site-state docs build/site
	$(BIN)/python -m tests.tools.offline build/site
	@echo "the site: build/site/index.html"

docs-short: $(DOCS_READY)
	GALLERY=short $(BIN)/sphinx-build -W --keep-going -q -j 2 -d build/site-state docs build/site
	$(BIN)/python -m tests.tools.offline build/site

# Wheel and sdist built, checked, installed in empty environments of each Python found, and used. Publishes nothing.
release-check: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[release]'
	$(BIN)/python -m tests.tools.release

# The lowest versions that pyproject.toml allows, in an environment of their own.
test-oldest:
	$(PYTHON) -m venv --clear build/oldest
	build/oldest/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-oldest.txt -e '.[dev]'
	build/oldest/bin/python -m pytest $(WORKERS) -m "not slow and not realtime" tests/models tests/firmware_interface tests/hil tests/experiments/analysis

# The two libraries of the live page, from npm, as they lie in experiments/live/page/vendor; only to take newer ones. Wants Node.
page-libraries:
	cd tests/tools/page_libraries && npm ci --no-audit --no-fund && npm run --silent build

bench: $(READY)
	$(BIN)/python -m tests.tools.bench
	$(BIN)/python -m tests.tools.bench_live
	$(BIN)/python -m tests.tools.bench_page

soak: $(READY)
	$(BIN)/python -m tests.tools.soak --minutes 30

fuzz: $(READY)
	$(BIN)/python -m tests.tools.fuzz --bytes 1e8
	$(BIN)/python -m tests.tools.fuzz_files --mutants 1e5

# make mutants ARGS="--only hil/loop/tick.py --jobs 2"
mutants: $(READY)
	$(BIN)/python -m tests.tools.mutants $(ARGS)

lint: $(READY)
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/python -m tests.tools.lint
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix . && $(BIN)/ruff format .

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache build *.egg-info
	find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +
