# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Every target sets up what it needs; ARGS is handed on, for example
#   make test ARGS=tests/algorithms
#   make bench ARGS=--help
# STACK=tff takes the versions that TFF itself asks for, in .venv-tff.

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: demo test test-thorough test-all test-flaky \
  mutants test-processors test-gpu lint bench bench-commits bazel-test lock sbom audit \
  docs install accelerator ray clean help

# cpu, cuda12, cuda13 or tpu.
PLATFORM ?= cpu
# today, with the newest TensorFlow, or tff, with TFF's own pins.
STACK ?= today
today_VENV := .venv
tff_VENV := .venv-tff
tff_PYTHONS := 3.11
VENV := $($(STACK)_VENV)
# Those of .ci/find_python, if none is named.
PYTHONS := $($(STACK)_PYTHONS)
ifeq ($(VENV),)
$(error STACK must be today or tff, got $(STACK))
endif
RUN := $(VENV)/bin/python
PYTEST := $(RUN) -m pytest -n 2 --dist loadfile --max-worker-restart 0

# Samples of data sets that some tests need; they skip where it is absent.
export FEDFISH_TFF_DATA ?= $(abspath ../shared/data)

demo: install ## train FedAvg and FedFish on real data and draw the results
	@$(RUN) -m launch.demo

test: install ## run the tests of every day, in minutes
	@$(PYTEST) $(ARGS)

test-thorough: install ## run what make test leaves to CI
	@$(PYTEST) -m 'thorough and not slow' $(ARGS)

test-all: install ## run all tests, the slow ones too (ARGS=FILE for some)
	@$(PYTEST) -m '' $(ARGS)

test-flaky: install ## run ARGS 100 times (TIMES=N) on busy cores
	@$(RUN) .ci/test_flaky.py $(ARGS)

mutants: install ## change ARGS=MODULE.py in places; which tests notice?
	@$(RUN) .ci/mutate.py $(ARGS)

test-processors: install ## run the tests as if on several processors (slow)
	@$(RUN) .ci/test_processors.py $(ARGS)

# Tests start several processes; each would take most of the device's memory.
test-gpu: install ## compare and time rounds on a GPU; skips without one
	@if JAX_PLATFORMS=cuda $(VENV)-accelerator/bin/python -c \
	  'import jax; jax.devices()' 2>/dev/null; then \
	  export XLA_PYTHON_CLIENT_PREALLOCATE=false; \
	  export TF_FORCE_GPU_ALLOW_GROWTH=true; \
	  FEDFISH_TFF_PLATFORM=cuda $(RUN) -m pytest -m '' \
	    tests/execution/pjrt/pjrt_runner_test.py && \
	  $(RUN) -m benchmarks.accelerator --platform=cuda $(ARGS); \
	else \
	  echo 'make test-gpu skips: JAX in $(VENV)-accelerator finds no GPU (make' \
	    'accelerator PLATFORM=cuda13 installs it)'; \
	fi

lint: install ## check style and format
	@$(RUN) -m ruff check .
	@$(RUN) -m ruff format --check .

bench: install ## measure the speed and print a table
	@$(RUN) -m benchmarks.run $(ARGS)

bench-commits: install ## compare rounds at two commits (ARGS=BASE)
	@$(RUN) .ci/compare_commits.py $(ARGS)

bazel-test: install ## build all with Bazel, offline, and run its smoke tests
	@VIRTUAL_ENV=$(abspath $(VENV)) .ci/bazel_test $(ARGS)

lock: ## resolve requirements/*.in into the locks (ARGS=--upgrade for newer)
	@.ci/with_tool uv==0.13.8 .ci/lock $(ARGS)

sbom: ## write build/sbom.cdx.json, what the lock consists of (CycloneDX)
	@.ci/with_tool cyclonedx-bom==7.5.0 .ci/sbom $(ARGS)

audit: ## look the locks up in a database of vulnerabilities
	@.ci/with_tool pip-audit==2.10.1 .ci/audit $(ARGS)

docs: ## build the site of the pages and of the API into build/docs
	@.ci/with_tool \
	  'zensical==0.0.73 mkdocstrings-python==2.0.11 ruff==0.17.5' .ci/docs

# It counts as installed only with the stamp that is written last.
install: ## make .venv from the locks, if it is not up to date
	@$(RUN) .ci/set_up.py --check --stack=$(STACK) 2>/dev/null || { \
	  python=$$(.ci/find_python $(PYTHONS)) && \
	  "$$python" .ci/set_up.py --stack=$(STACK); }

# It takes one platform's place of another's; stamps tell.
accelerator: ## make .venv-accelerator for --context=pjrt (PLATFORM=tpu ...)
	@python=$$(.ci/find_python) && \
	  "$$python" .ci/set_up.py --accelerator=$(PLATFORM) --stack=$(STACK)

ray: install ## install Ray into .venv, for --context=ray
	@$(RUN) .ci/set_up.py --ray --stack=$(STACK)

clean: ## remove caches and build products (no .venv, not runs/)
	@rm -rf build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -not -path './.venv*' -prune -exec rm -rf {} +

help: ## list the targets
	@echo 'make demo and make test do all their set-up. Targets:'
	@sed -n 's/^\([a-z-]*\):.*## /  \1\t/p' Makefile | expand -t 19
