# make run and make test do everything on a fresh machine; docs/GRAPHS.md says what they bring.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

CARGO ?= cargo
# More arguments for acc: make run ARGS='--image photo.png'
ARGS ?=

# What runs and what is timed is a release build. Tests and checks are one build of the dev profile, whose assertions are on.
TORCH := --features libtorch
# Brings libtorch when it is missing, and lets the recipe's commands find it.
WITH_LIBTORCH := env=$$(scripts/libtorch.sh --env) && eval "$$env" &&
ACC := $(WITH_LIBTORCH) $(CARGO) run --release $(TORCH) --package acc-cli --bin acc --

# Not for the registry.
UNPUBLISHED := --exclude acc-benches --exclude acc-graph-benches

.PHONY: package run digits test test-core matrix bench bench-graph bench-peers bench-compile bench-xla check-onnx check-xla xla setup lint fmt help
.DEFAULT_GOAL := help

help:
	@echo 'make run      set up what is missing, build, and run the tour of example programs on every executor'
	@echo 'make digits   train a network that reads images, on Fashion-MNIST or on drawn digits'
	@echo 'make test     set up what is missing, and run every test of the workspace'
	@echo 'make matrix   print the conformance matrix, and put its table into docs/MATRIX.md'
	@echo 'make check-onnx   run every test program as an ONNX model in onnxruntime, and compare'
	@echo 'make check-xla    run every test program on XLA, some of them on several processes, and compare'
	@echo 'make bench-xla    time programs on one process and on two'
	@echo 'make bench    time kernels on every executor, and put the table into docs/BENCHMARKS.md'
	@echo 'make bench-peers   the same kernels in NumPy, Numba, JAX and PyTorch, in turn with ours'
	@echo 'make bench-compile   time compilation, and put the table into docs/BENCHMARKS.md'
	@echo 'make bench-graph   time the graph executor beside programs written by hand for libtorch'
	@echo 'make setup    bring libtorch, and let plain cargo find it in this workspace'
	@echo 'make lint     check formatting, clippy, packages and rustdoc, with warnings denied'
	@echo 'make package  make the package of every crate and compile it, as for the registry'
	@echo 'make fmt      format the sources'

setup:
	scripts/libtorch.sh

run: setup
	$(ACC) tour $(ARGS)

# Fashion-MNIST where apt-get finds it, else drawn digits; make digits ARGS='--epochs 20 --optimiser adam'
digits:
	if folder=$$(scripts/fashion_mnist.sh); then data=(--data "$$folder"); \
	else data=(); echo 'no Fashion-MNIST is here: training on drawn digits' >&2; fi; \
	$(CARGO) run --release --package acc-cli --bin acc -- digits "$${data[@]}" $(ARGS)

matrix: setup
	$(ACC) matrix --markdown docs/MATRIX.md $(ARGS)

# Of the programs on XLA a fixed part, one in so many, by the same build: other packages or features would compile most crates
# again.
test: xla setup
	$(WITH_LIBTORCH) ACC_XLA=off $(CARGO) test --workspace $(TORCH)
	$(WITH_LIBTORCH) $(CARGO) test --workspace $(TORCH) --test local
	$(WITH_LIBTORCH) $(TESTED) check-executor xla --every 20
	$(WITH_LIBTORCH) $(TESTED) check-executor xla --processes 2 --every 40
	$(WITH_LIBTORCH) $(TESTED) check-executor xla --processes 3 --every 160

# Everything without libtorch: what most changes need.
test-core:
	ACC_XLA=off $(CARGO) test --workspace

# libgomp's threads wait without spinning, so that they do not take the cores from others.
bench-graph: setup
	$(WITH_LIBTORCH) OMP_WAIT_POLICY=passive $(CARGO) run --release $(TORCH) --package acc-graph-benches -- --markdown $(CURDIR)/docs/BENCHMARKS.md $(ARGS)

# What make bench-peers has recorded, if anything.
PEERS := $(if $(wildcard target/peers/results.json),--peers $(CURDIR)/target/peers/results.json)

bench: setup
	$(WITH_LIBTORCH) OMP_WAIT_POLICY=PASSIVE $(CARGO) bench --package acc-benches --features libtorch --bench kernels -- \
	  --markdown $(CURDIR)/docs/BENCHMARKS.md $(PEERS) $(ARGS)

# Every test program as an ONNX model in onnxruntime, which comes into a virtual environment of its own.
check-onnx: export OUT := target/onnx
check-onnx:
	test -x $$OUT/bin/python || python3 -m venv $$OUT
	$$OUT/bin/python -m pip install --quiet numpy onnxruntime
	$(CARGO) run --release --package acc-cli --bin acc -- check-onnx --python $$OUT/bin/python $(ARGS)

# XLA's plugin for the CPU, and jaxlib for several processes, come into the cache.
xla:
	scripts/xla.sh
	scripts/xla.sh --processes

CHECK_XLA := $(CARGO) run --release --package acc-cli --bin acc -- check-executor xla
# The command that the tests were built with.
TESTED := $${CARGO_TARGET_DIR:-target}/debug/acc

# Every test program on XLA, and a fixed part of them on several processes: a loop of thousands of small steps, each of which
# sends something, takes longer there than its test may.
check-xla: xla
	$(CHECK_XLA) $(ARGS)
	$(CHECK_XLA) --processes 2 --every 40
	$(CHECK_XLA) --processes 3 --every 160

bench-xla: xla
	$(CARGO) build --release --package acc-cli --bin acc --package backend-xla --example scale
	for n in 1 2; do target/release/acc launch -n $$n -- target/release/examples/scale; done

bench-compile:
	$(CARGO) bench --package acc-benches --bench compile -- --markdown $(CURDIR)/docs/BENCHMARKS.md $(ARGS)

bench-peers:
	benches/peers/run.py $(ARGS)

# Every crate as the registry would get it, compiled from that.
package:
	$(CARGO) package --workspace --allow-dirty $(UNPUBLISHED)

fmt:
	$(CARGO) fmt --all

lint: setup
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(WITH_LIBTORCH) $(CARGO) clippy --workspace --all-targets $(TORCH) -- -D warnings
	$(CARGO) package --quiet --workspace --no-verify --allow-dirty $(UNPUBLISHED)
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --workspace --no-deps
	$(WITH_LIBTORCH) RUSTDOCFLAGS='-D warnings' $(CARGO) doc --workspace --no-deps $(TORCH)
