# Everything a fresh clone needs is Python 3.11 or newer; the rest comes from PyPI, pinned in requirements.lock.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup demo test test-one-lane test-live test-the-rest test-twins test-tables-on-spark test-on-spark check swarm bench reproduce clean

setup: .venv/ready

.venv/ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("trellis needs Python 3.11 or newer, this is %d.%d; set PYTHON=" % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .
	@touch $@

demo: setup  ## a discussion among 64 nodes, its audit, a story and a page; a sweep on Spark; 16 live processes, one killed
	$(BIN)/trellis demo --out out/demo

PYTEST := $(BIN)/python -m pytest

test: setup check  ## what CI runs, in four lanes for two cores, since one often waits: many processes, then audits and ingest on Spark; all else that uses Spark; twins; the rest
	@$(MAKE) --no-print-directory --keep-going --jobs 4 test-one-lane test-on-spark test-twins test-the-rest

test-one-lane: setup  # both parts, whatever comes of the first
	+@$(MAKE) --no-print-directory test-live; first=$$?; $(MAKE) --no-print-directory test-tables-on-spark && exit $$first

# Of what uses Spark: so much, in a session of its own, that the lanes take as long.
IN_ONE_LANE := $(wildcard tests/pipeline/test_ingest_*.py) \
  $(wildcard tests/pipeline/test_*_on_spark.py) tests/pipeline/test_reproduce.py

# Of those that run at once, one tells as it goes; the others say what they have to say at their end, not among its dots.
at-its-end = mkdir -p out; $(1) > out/$@.log 2>&1; told=$$?; cat out/$@.log; exit $$told

test-live: setup  # it has bounds on time
	$(PYTEST) -m "not spark" tests/live

test-on-spark: setup  # so these have only what time that leaves
	@$(call at-its-end,nice -n 10 $(PYTEST) -m spark $(addprefix --ignore ,$(IN_ONE_LANE)))

test-twins: setup
	@$(call at-its-end,nice -n 10 $(PYTEST) -m "not spark" tests/twins)

test-the-rest: setup
	@$(call at-its-end,nice -n 10 $(PYTEST) -m "not spark" --ignore tests/live --ignore tests/twins)

test-tables-on-spark: setup
	$(PYTEST) -m spark $(IN_ONE_LANE)

check: setup  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

swarm: setup  ## the long form of the swarm tests
	$(BIN)/trellis swarm --schedules 10000
	$(BIN)/trellis swarm --faults --schedules 10000
	$(BIN)/trellis swarm --ordering total --schedules 10000
	for order in unordered fifo causal; do \
	  $(BIN)/trellis swarm --hierarchy --ordering $$order --schedules 2000 && \
	  $(BIN)/trellis swarm --hierarchy --faults --ordering $$order --schedules 2000 || exit 1; done
	$(BIN)/trellis swarm --overlay vcube-printed --schedules 10000; test $$? -eq 1
	$(MAKE) --no-print-directory twins

TREES := vcube-printed vcube single-root brokers
IN_ROUNDS := damulticast damulticast-printed gossip-broadcast gossip-multicast gossip-hierarchical vitis rendezvous topic-overlay
TWINS := $(foreach overlay,$(TREES),twins/$(overlay)/causal twins/$(overlay)/unordered) \
  $(patsubst %,twins/%/unordered,$(IN_ROUNDS))
SCENARIOS ?= 2000

.PHONY: twins twins/sequencer bounds $(TWINS)

twins: $(TWINS) twins/sequencer  ## both engines, row by row, for each twin: `make -j2 twins`, an hour on one core; with NUMBA_DISABLE_JIT=1 and SCENARIOS=20 where nothing is compiled

$(TWINS): twins/%: setup
	$(BIN)/trellis twins --overlay $(*D) --ordering $(*F) --scenarios $(SCENARIOS)

twins/sequencer: setup
	$(BIN)/trellis twins --sequencer --scenarios $(SCENARIOS)

bounds: setup  ## the same for a hundred, by kernels that refuse an address that is not in its array
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=out/bounds $(MAKE) --no-print-directory twins SCENARIOS=100

bench: setup  ## every figure a ratio in one run
	$(BIN)/python bench/reference.py
	$(BIN)/python bench/window.py
	$(BIN)/python bench/sweep.py
	$(BIN)/python bench/audit.py
	$(BIN)/python bench/live.py
	$(BIN)/python bench/journal.py
	$(BIN)/python bench/total.py
	$(BIN)/python bench/engines.py

reproduce: setup  ## the papers' figures beside ours, as a page: half an hour on two cores
	$(BIN)/trellis reproduce vcube-ps --out out/vcube-ps
	$(BIN)/trellis reproduce tno --out out/tno
	$(BIN)/trellis reproduce damulticast --out out/damulticast
	$(BIN)/trellis reproduce vitis --out out/vitis

clean:
	rm -rf .venv out build
