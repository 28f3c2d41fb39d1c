# `make help` lists the targets. Everything is made once, in .venv and build/, and again when its sources change.

SHELL := /bin/bash
.DEFAULT_GOAL := help

BIN := .venv/bin
STAMPS := .venv/.stamps
# cmake, ninja and the clang tools come from pip: a machine needs a C++ compiler only.
export PATH := $(CURDIR)/$(BIN):$(PATH)
# -c adds to the user's own pip configuration (index, find-links, constraints), which stays in force.
PIP_INSTALL := $(BIN)/python -m pip install --no-input -c constraints.txt
RUNTIME_PACKAGES := packaging/linux/system-packages.txt
TEST_PACKAGES := $(RUNTIME_PACKAGES) packaging/linux/system-packages-test.txt
NATIVE_SOURCES := $(shell find native -type f)

.NOTPARALLEL:
.PHONY: help run test lint types native bench build models soak package screenshots clean
.PHONY: system system-test dev

help:  ## this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|'

run: system build models  ## set up what is missing, then talk to Kazeia
	@tools/run.sh

build: $(STAMPS)/build  ## .venv, the dependencies and the C++ extension

models: build  ## fetch and verify the starter models
	@$(BIN)/kazeia models get --starter

# SmolLM2 is the small model on which the chat session's plumbing is tested.
test: system-test dev models native  ## all tests: Python, C++, C++ for ARM, real models, a real sound server
	@$(BIN)/kazeia models get smollm2-135m
	$(BIN)/python -m pytest

lint: dev  ## ruff, import-linter, clang-format, clang-tidy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache
	tools/lint_native.sh

types: dev  ## mypy, strict
	$(BIN)/mypy

native: build system-test  ## the C++ tests: here, with sanitizers, and for ARM under qemu
	@tools/native_tests.sh --require-arm

bench: models  ## what this machine does: speech to text, language model, whole turn
	$(BIN)/kazeia bench stt
	$(BIN)/kazeia bench llm
	$(BIN)/kazeia bench turn

soak: system-test dev models  ## utterances stopped, settings turned at random, a robot's sessions, then an hour of conversation
	@$(BIN)/kazeia models get smollm2-135m
	$(BIN)/python tools/soak_voice.py
	$(BIN)/python tools/soak_knobs.py
	for form in tablet desktop tablet desktop tablet; do \
		KAZEIA_ROBOT_FORM=$$form $(BIN)/python -m pytest -q tests/device/test_robot_session.py || exit 1; done
	KAZEIA_ENDING=all $(BIN)/python -m pytest -q tests/device/test_ending.py
	$(BIN)/python tools/soak.py

package: build  ## a wheel for this machine, in dist/
	$(BIN)/python -m pip wheel --no-input --no-build-isolation --no-deps --wheel-dir dist .

screenshots: dev system-test  ## docs/screenshots/
	xvfb-run -a -s "-screen 0 2600x2400x24" $(BIN)/python tools/screenshots.py

clean:  ## remove what was built, but not .venv
	rm -rf build dist $(STAMPS)/build

# Checked every time, in a fraction of a second; SKIP_SYSTEM=1 leaves the system alone.
system:
	@tools/system_packages.sh $(RUNTIME_PACKAGES)

system-test:
	@tools/system_packages.sh $(TEST_PACKAGES)

dev: $(STAMPS)/dev

$(STAMPS)/venv: | system
	@tools/make_venv.sh
	@mkdir -p $(STAMPS) && touch $@

# llama-cpp-python before everything: the extension is built against its headers and libraries.
$(STAMPS)/llama: constraints.txt tools/build_llama.py $(STAMPS)/venv
	$(PIP_INSTALL) --quiet cmake ninja pybind11 scikit-build-core
	@$(BIN)/python tools/build_llama.py constraints.txt build/llama-cpp-python.log
	@touch $@

$(STAMPS)/dependencies: pyproject.toml constraints.txt tools/requirements.py $(STAMPS)/llama
	$(PIP_INSTALL) --requirement <($(BIN)/python tools/requirements.py)
	@touch $@

$(STAMPS)/build: $(NATIVE_SOURCES) $(STAMPS)/dependencies
	$(PIP_INSTALL) --quiet --no-build-isolation --no-deps --editable .
	@touch $@

$(STAMPS)/dev: $(STAMPS)/dependencies $(STAMPS)/build
	$(PIP_INSTALL) --requirement <($(BIN)/python tools/requirements.py dev)
	@touch $@
