# The front door. Thin on purpose: what is done lives in cargo and in scripts/.

.DEFAULT_GOAL := help
.PHONY: help demo test bench lib header fmt clean

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 16

demo: lib ## the main job: a week of earthquakes, appended from C, consumed from C++
	@scripts/compile.sh build/demo/earthquakes release demo/*.c demo/*.cpp
	@build/demo/earthquakes demo/earthquakes.ndjson

test: build/set-up-test ## everything: layout, lints, Rust tests, scenarios, C and C++ programs, the demo
	@scripts/test.sh $(STAGES)

bench: lib build/set-up-test ## the engine and the C library against their floors; WRITE=1 notes them in docs/benchmarks.md
	@scripts/compile.sh build/bench/abi release bench/abi.c
	@python3 bench/run.py $(if $(WRITE),--write docs/benchmarks.md)

lib: build/set-up-build ## the library, optimised: target/release/librheo.so and librheo.a
	@echo '== librheo'
	@cargo build --quiet --locked --release -p rheo-ffi

header: build/set-up-build ## include/rheo.h, from the functions of rheo-ffi
	@cargo run --quiet --locked -p rheo-ffi --example header

fmt: build/set-up-test ## lays out the Rust, C and C++ files
	@cargo fmt --all
	@scripts/check_format.sh --write

clean: ## removes what was built
	@cargo clean
	@rm -rf build

# Sets this machine up, once; again when the script changes.
build/set-up-%: scripts/setup.sh
	@scripts/setup.sh $*
	@touch $@
