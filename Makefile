# The two commands of the README are `make serve` and `make test`; both do all of their own set-up and are cheap to repeat.
# ARGS passes further flags to the program: make serve ARGS="--port 9000 --threads 2"

SHELL := /bin/bash
ARGS ?=
VENV := build/test-env

.PHONY: help setup setup-test build serve model test test-full bench check format clean

help:
	@sed -n 's/^## //p' Makefile

## make serve      set up, build, get a model, start the server
serve: build
	@model=$$(python3 tools/get_model.py) && exec build/release/paceline serve --model "$$model" $(ARGS)

## make build      the programs in build/release/
build: setup
	@tools/build.sh release

## make model      get the default model and print its path
model: setup
	@python3 tools/get_model.py

## make test       all tests (sanitisers on), then the end-to-end tests on the real model
test: setup-test $(VENV)/.ready
	@tools/run_tests.sh

## make test-full  the same plus ThreadSanitizer, long and stress tests
test-full: setup-test $(VENV)/.ready
	@tools/run_tests.sh full

## make bench      kernel and scheduler benchmarks (Google Benchmark)
bench: setup
	@tools/build.sh bench && for program in build/bench/bench/*_bench; do $$program $(ARGS) || exit 1; done

## make check      layer rules and formatting, without a build
check: setup-test
	@python3 tools/check_layers.py && tools/check_format.sh

## make format     format all sources
format: setup-test
	@git ls-files '*.h' '*.cpp' | xargs clang-format -i

## make clean      remove all builds (not the model)
clean:
	rm -rf build

setup:
	@tools/setup.sh build

setup-test:
	@tools/setup.sh test

$(VENV)/.ready: tests/requirements.txt tests/e2e/node/package-lock.json | setup-test
	@echo "setup: python and node packages of the tests"
	@python3 -m venv $(VENV) && $(VENV)/bin/pip install --quiet --disable-pip-version-check -r tests/requirements.txt
	@mkdir -p build/test-node && cp tests/e2e/node/package.json tests/e2e/node/package-lock.json build/test-node/
	@cd build/test-node && npm ci --silent --no-fund --no-audit
	@touch $@
