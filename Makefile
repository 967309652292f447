# The front door. Thin on purpose: what is done lives in cargo and in scripts/.

.DEFAULT_GOAL := help
.PHONY: help demo test test-crash bench bench-python bench-node node fuzz lib install uninstall dist docs header fmt clean

# The demo's own environment: the package as users install it, and what draws.
demo_python := build/demo-python/bin/python

# Where `install` puts things; see scripts/install.sh.
export PREFIX LIBDIR DESTDIR

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 18

demo: lib build/set-up-demo ## the main job: a week of earthquakes in a journal, in four languages, a kill -9 in the middle
	@scripts/compile.sh build/demo/ingest release demo/ingest.c demo/json.c
	@scripts/compile.sh build/demo/consume release demo/consume.cpp demo/json.c
	@[ ! -x $(demo_python) ] || $(demo_python) -m pip install --quiet --disable-pip-version-check ./bindings/python
	@scripts/node.sh build >build/logs/demo-node.log 2>&1 || [ $$? = 77 ]
	@demo/run.sh build/demo $(wildcard $(demo_python))

test: build/set-up-test ## everything: layout, lints, Rust tests, scenarios, C and C++ programs, the demo
	@scripts/test.sh $(STAGES)

test-crash: build/set-up-test ## kills a process that works on a journal with -9, 300 times: nothing confirmed may be missing
	@RHEO_CRASH_KILLS=$(or $(KILLS),300) cargo test --quiet --locked -p rheo-core --test crash

bench: lib build/set-up-bench ## speed and memory, against floors and Redis; WRITE=1 notes the figures in docs/benchmarks.md
	@scripts/compile.sh build/bench/abi release bench/abi.c
	@scripts/compile.sh build/bench/consumers release bench/consumers.c
	@python3 bench/run.py $(if $(WRITE),--write docs/benchmarks.md)
	@cargo bench --quiet --locked -p rheo-core --bench engine -- --quick --noplot

bench-python: build/set-up-bench-python ## the Python package against redis-py, honker and plain Python; WRITE=1 as above
	@VIRTUAL_ENV=$(CURDIR)/.venv .venv/bin/maturin develop --quiet --release --locked -m bindings/python/Cargo.toml >/dev/null
	@.venv/bin/python bench/python.py $(if $(WRITE),--write docs/benchmarks.md)

node: build/set-up-build ## the Node package, where it stands: bindings/node
	@scripts/node.sh build

bench-node: node build/set-up-bench ## the Node package against better-sqlite3 and node-redis; WRITE=1 notes the figures in docs/benchmarks.md
	@scripts/node.sh bench $(if $(WRITE),--write docs/benchmarks.md)

fuzz: build/set-up-test ## random programs of C calls for SECONDS=600; KEEP=1 keeps the inputs that reach the most
	@scripts/fuzz.sh $(or $(SECONDS),600) $(if $(KEEP),--keep)

lib: build/set-up-build ## the library, optimised: target/release/librheo.so and librheo.a
	@scripts/build_library.sh

# Root often has no cargo; then goes in what was built before.
install: $(if $(shell command -v cargo),lib) ## the library, its headers, rheo.pc and a CMake package, under PREFIX=/usr/local
	@scripts/install.sh install

uninstall: ## takes them away again
	@scripts/install.sh uninstall

dist: build/set-up-build ## a source archive of what is committed that builds without a network: build/rheo-VERSION.tar.gz
	@scripts/dist.sh

docs: build/set-up-build ## the manual as pages: the crates, and with doxygen the headers
	@scripts/docs.sh

header: build/set-up-build ## include/rheo.h, from the functions of rheo-ffi
	@cargo run --quiet --locked -p rheo-ffi --example header

fmt: build/set-up-test ## lays out the Rust, C and C++ files
	@cargo fmt --all
	@scripts/check_format.sh --write

clean: ## removes what was built
	@cargo clean
	@rm -rf build bindings/node/dist bindings/node/npm bindings/node/*.node

# Sets this machine up, once; again when the script changes.
build/set-up-%: scripts/setup.sh
	@scripts/setup.sh $*
	@touch $@
