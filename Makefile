# Everything a fresh clone needs is Python 3.11 or newer; the rest comes from PyPI, pinned in requirements.lock.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup demo test test-on-spark test-the-rest check swarm bench reproduce clean

setup: .venv/ready

.venv/ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("trellis needs Python 3.11 or newer, this is %d.%d; set PYTHON=" % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .
	@touch $@

demo: setup  ## a discussion among 64 nodes, its audit, a story and a page; a sweep on Spark; 16 live processes, one killed
	$(BIN)/trellis demo --out out/demo

test: setup check  ## what CI runs: first what starts many processes, then the rest, with what uses Spark beside it
	$(BIN)/python -m pytest -m "not spark" tests/live
	@$(MAKE) --no-print-directory --keep-going --jobs 2 test-the-rest test-on-spark

LONGEST := tests/pipeline/test_audits_on_spark.py  # of what uses Spark: beside the others, so that both halves take as long

test-the-rest: setup
	$(BIN)/python -m pytest -m "not spark" --ignore tests/live
	$(BIN)/python -m pytest -m spark $(LONGEST)

test-on-spark: setup  # what it says comes at its end, not among the dots of the other half
	@mkdir -p out
	@$(BIN)/python -m pytest -m spark $(addprefix --ignore ,$(LONGEST)) > out/test-on-spark.log 2>&1; told=$$?; cat out/test-on-spark.log; exit $$told

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

bench: setup  ## every figure a ratio in one run
	$(BIN)/python bench/reference.py
	$(BIN)/python bench/window.py
	$(BIN)/python bench/sweep.py
	$(BIN)/python bench/audit.py
	$(BIN)/python bench/live.py
	$(BIN)/python bench/journal.py
	$(BIN)/python bench/total.py

reproduce: setup  ## the papers' figures beside ours, as a page: some minutes on two cores
	$(BIN)/trellis reproduce vcube-ps --out out/vcube-ps
	$(BIN)/trellis reproduce tno --out out/tno
	$(BIN)/trellis reproduce damulticast --out out/damulticast

clean:
	rm -rf .venv out build
