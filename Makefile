PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
READY = $(VENV)/.ready

# A build of PyTorch without CUDA, for tests that are skipped where there is none.
TORCH ?= torch==2.13.0$(if $(filter Linux,$(shell uname)),+cpu)
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu

CAPTIONER = flickr8k_captioner
# Those with a text for the section on use and limits of their cards.
BUNDLED = $(patsubst saved_models/%.md,%,$(wildcard saved_models/*.md))
PIPELINES = pipelines/keras_attn_pipelines
EMPTY = build/empty
TPU_CHECK = KERAS_BACKEND=jax JAX_PLATFORMS=cpu TPU_SKIP_MDS_QUERY=1 \
	TPU_ACCELERATOR_TYPE=v5litepod-4 TPU_WORKER_HOSTNAMES=localhost

.PHONY: setup demo test mutants systems slow lint docs notebooks browser tfds extras tpu-check audit bounds release clean

# Makes the virtual environment, and nothing else.
setup: $(READY)

# Trains, measures, exports and explains a captioner on drawn scenes; everything lands in demo/.
demo: $(READY)
	$(BIN)/python -m keras_attn_pipelines.demo --out demo

# Takes about six minutes on two cores; prints the dearest tests, and fails if one takes 3 % of it.
test: $(READY)
	$(BIN)/python -m pytest -n 2 --dist loadfile --most-percent 3

# Puts small faults into a copy of the checkout, one after the other: each must fail a quick test.
mutants: $(READY)
	$(BIN)/python -m tests.mutants

# End-to-end tests: a tiny training of each kind of system, its evaluation, export and answers by the
# command line, on several devices, in several processes, and through interruptions.
systems: $(READY)
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "systems and not slow" tests

slow: $(READY)
	$(BIN)/python -m pytest -m slow

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy keras_attn/contracts.py keras_attn/decoding keras_attn/text $(PIPELINES)

# Builds the documentation into docs/_build/html; the code of its pages is executed, that of
# notebooks is not.
docs: $(VENV)/.docs-ready
	TF_CPP_MIN_LOG_LEVEL=2 $(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html

# Executes the notebooks and stores what they print and draw, so that it can be read without running them.
notebooks: $(VENV)/.docs-ready
	$(BIN)/python docs/execute_notebooks.py

# Tests pages in a real browser, Debian's chromium.
browser: $(VENV)/.browser-ready
	$(BIN)/python -m pytest -m browser tests/browser

# Tests shards and named data sets with the real tensorflow-datasets, array_record and Apache Beam.
tfds: $(VENV)/.beam-ready
	$(BIN)/python -m pytest -m tfds tests/tfds

# Compiles the training step and the decoding loop of every recipe for a TPU, with Google's compiler
# (480 MB); no TPU is needed.
tpu-check: $(READY)
	$(BIN)/python -m pip install --quiet --upgrade --no-deps --target build/libtpu libtpu
	TPU_LIBRARY_PATH=build/libtpu/libtpu/libtpu.so $(TPU_CHECK) $(BIN)/python -m tests.recipes.tpu_check

# Looks up known vulnerabilities of everything that is installed, with pip-audit in an environment of
# its own. A package that cannot be looked up is a failure too.
audit: $(READY)
	$(PYTHON) -m venv build/audit
	build/audit/bin/python -m pip install --quiet pip-audit
	$(BIN)/python -m pip freeze --exclude-editable > build/audit/installed.txt
	build/audit/bin/pip-audit --strict --no-deps --disable-pip -r build/audit/installed.txt

# Runs a sample of the tests with the oldest, then with the newest versions that setup.cfg allows.
bounds:
	PYTHON=$(PYTHON) .ci/bounds oldest
	PYTHON=$(PYTHON) .ci/bounds newest

# Builds the wheel and an archive of each bundled model into dist/, and asks all of them in an empty
# virtual environment.
release: $(READY)
	rm -rf build dist
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	cd saved_models && for name in $(BUNDLED); do \
		$(abspath $(BIN))/python -m zipfile -c ../dist/$$name.zip $$name || exit 1; done
	$(BIN)/python -m venv $(EMPTY)
	$(EMPTY)/bin/python -m pip install --quiet "$$(ls dist/*.whl)[text,pictures,demo]"
	cd $(EMPTY) && for name in $(BUNDLED); do \
		bin/python -m zipfile -e ../../dist/$$name.zip . || exit 1; done
	cd $(EMPTY) && bin/keras-attn predict polarity "a warm , funny film" && \
		bin/keras-attn predict craft_parser "The cells grew ." && \
		bin/keras-attn predict multi30k_en_de "Two dogs play in the snow." && bin/python -c "\
	import keras_attn, skimage; assert '$(EMPTY)' in keras_attn.__file__; \
	answer = keras_attn.load('$(CAPTIONER)').predict([skimage.data.camera()])[0]; \
	assert answer.text, answer; print(answer.text)"
	cd $(EMPTY) && bin/keras-attn predict $(CAPTIONER) lib/python3*/site-packages/skimage/data/camera.png
	rm -rf build

$(READY): setup.cfg setup.py pyproject.toml
	$(PYTHON) -c "import sys; assert (3, 11) <= sys.version_info < (3, 14), 'Python 3.11 to 3.13 wanted, set PYTHON=...'"
	@echo "Setting up $(VENV): 4 GB, mostly TensorFlow and PyTorch, in 3 to 10 minutes."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	$(BIN)/python -m pip install --quiet --retries 1 --extra-index-url $(TORCH_INDEX) \
		"$(TORCH)" 2> /dev/null || echo "No PyTorch: its tests will be skipped. Set TORCH=... and TORCH_INDEX=..."
	touch $(READY)
	@echo "Ready. Next: make demo, or: . $(VENV)/bin/activate && keras-attn recipes"

# Extras that a target needs beside those of the tests.
$(VENV)/.%-ready: $(READY)
	$(BIN)/python -m pip install --quiet --editable ".[$*]"
	touch $@

# All of them, one after the other: two at once would change one environment.
extras: $(addprefix $(VENV)/.,docs-ready beam-ready browser-ready)

clean:
	rm -rf $(VENV) build demo dist docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
