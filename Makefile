PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
READY = $(VENV)/.ready

.PHONY: setup demo test slow lint clean

# Makes the virtual environment, and nothing else.
setup: $(READY)

# Trains, measures, exports and explains a captioner on drawn scenes; everything lands in demo/.
demo: $(READY)
	$(BIN)/python -m pipelines.demo --out demo

test: $(READY)
	$(BIN)/python -m pytest -n 2 --dist loadfile

slow: $(READY)
	$(BIN)/python -m pytest -m slow

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy keras_attn/contracts.py keras_attn/decoding keras_attn/text keras_attn_pipelines

$(READY): setup.cfg pyproject.toml
	$(PYTHON) -c "import sys; assert (3, 10) <= sys.version_info < (3, 14), 'Python 3.10 to 3.13 wanted, set PYTHON=...'"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $(READY)

clean:
	rm -rf $(VENV) demo .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
