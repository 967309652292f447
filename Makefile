# The front door. Thin on purpose: what is done lives in cargo and in scripts/.

.DEFAULT_GOAL := help
.PHONY: help demo test bench fuzz lib install uninstall header fmt clean

# Where `install` puts things; see scripts/install.sh.
export PREFIX LIBDIR DESTDIR

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 18

demo: lib ## the main job: a week of earthquakes, appended from C, consumed from C++
	@scripts/compile.sh build/demo/earthquakes release demo/*.c demo/*.cpp
	@build/demo/earthquakes demo/earthquakes.ndjson

test: build/set-up-test ## everything: layout, lints, Rust tests, scenarios, C and C++ programs, the demo
	@scripts/test.sh $(STAGES)

bench: lib build/set-up-test ## the engine and the C library against their floors; WRITE=1 notes them in docs/benchmarks.md
	@scripts/compile.sh build/bench/abi release bench/abi.c
	@python3 bench/run.py $(if $(WRITE),--write docs/benchmarks.md)
	@cargo bench --quiet --locked -p rheo-core --bench engine -- --quick --noplot

fuzz: build/set-up-test ## random programs of C calls for SECONDS=600; KEEP=1 keeps the inputs that reach the most
	@scripts/fuzz.sh $(or $(SECONDS),600) $(if $(KEEP),--keep)

lib: build/set-up-build ## the library, optimised: target/release/librheo.so and librheo.a
	@scripts/build_library.sh

# Root often has no cargo; then goes in what was built before.
install: $(if $(shell command -v cargo),lib) ## the library, its headers, rheo.pc and a CMake package, under PREFIX=/usr/local
	@scripts/install.sh install

uninstall: ## takes them away again
	@scripts/install.sh uninstall

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
