# Everything a fresh machine needs: `make serve` serves the demo voice and the page, `make test` runs every test.
# Set-up is done by the targets themselves; nothing is cached outside the repository (target/, .venv*/, golden/,
# tests/web/node_modules/) and cargo's home.

CARGO ?= cargo
TEXT ?= Hello. This is voxwire, speaking with its demo voice.
VOXWIRE = target/release/voxwire
PYTHON ?= python3

export CARGO_TARGET_DIR = target

.PHONY: all deps build say serve doctor test test-web test-page test-server test-listen listen listen-ends lint voices golden golden-test bench bench-reference clean

all: build

# libopus is built from source by the opus crate, which needs cmake and a C compiler.
deps:
	@command -v $(CARGO) >/dev/null || { echo "error: cargo: expected a Rust toolchain (1.89 or newer) on the PATH; see rustup.rs" >&2; exit 1; }
	@command -v cmake >/dev/null && command -v cc >/dev/null || deploy/install-system-packages.sh

build: deps
	$(CARGO) build --release --locked

say: build
	$(VOXWIRE) say "$(TEXT)" -o out.wav

doctor: build
	$(VOXWIRE) doctor

BIND ?= 127.0.0.1:8080

serve: build
	@echo "the page: http://$(BIND)"
	$(VOXWIRE) serve --bind $(BIND)

# Speaker statistics of the published model (0.2 MB download, for the golden seeds). Without the package index those tests skip.
voices: build
	@test -f golden/speaker_stats.txt || $(VOXWIRE) models pull chattts --voices-only --dir golden \
	  || echo "note: no package index in reach: the golden seeds of the published model are skipped"

lint: deps
	@if $(CARGO) fmt --version >/dev/null 2>&1; then $(CARGO) fmt --check; else echo "note: rustfmt is not installed, skipped"; fi
	@if $(CARGO) clippy --version >/dev/null 2>&1; then $(CARGO) clippy --release --locked --all-targets -- -D warnings; else echo "note: clippy is not installed, skipped"; fi

# What the examples of the README need besides a shell.
.venv-test/ready:
	@$(PYTHON) -c "import ensurepip" 2>/dev/null || deploy/install-system-packages.sh python3-venv
	$(PYTHON) -m venv .venv-test
	.venv-test/bin/pip install -q websockets==15.0.1 || echo "note: no package index in reach: the Python examples are skipped"
	touch $@

test: lint voices .venv-test/ready
	PYTHON=$(CURDIR)/.venv-test/bin/python $(CARGO) test --release --locked
	@$(MAKE) --no-print-directory test-server test-page test-listen

# The server from outside, one test after the other: protocol, formats, cancels, lost clients, load, a soak.
test-server: build
	$(CARGO) test --release --locked --test server -- --test-threads=1

# Listening to the demo voice: the program speaks, a recogniser writes down what it hears (100 MB, its weights inside
# the package). `listen` is 60 sentences in two voices, `listen-ends` how 200 sentences end, `test-listen` ten sentences.
LISTEN = .venv-test/bin/python -B models/demo/train/listen.py --voxwire $(VOXWIRE)

.venv-test/listen: models/demo/train/listen-requirements.txt .venv-test/ready
	@.venv-test/bin/pip install -q --retries 1 --timeout 15 -r $< && touch $@ || echo "note: no package index in reach: nobody listens"

listen: build .venv-test/listen
	$(LISTEN)

listen-ends: build .venv-test/listen
	$(LISTEN) --ends

test-listen: build .venv-test/listen
	@if test -f .venv-test/listen; then $(LISTEN) --sentences 10; fi

# The JavaScript of the page and the client: types and unit tests.
test-web:
	@if tests/web/install.sh; then cd tests/web && npm run --silent types && npm run --silent unit; else $(NO_PAGE); fi

# The same, and the page in Chromium against the server; three minutes.
test-page: build
	@if tests/web/install.sh; then cd tests/web && npm run --silent test; else $(NO_PAGE); fi

NO_PAGE = echo "note: Chromium or its packages are out of reach: the page is not tested"

# Full-size random weights and their golden values, by the Python package (2.5 GB of wheels, 1.1 GB of weights, about
# 10 minutes). `make test` uses them when they are there.
golden: golden/full.safetensors

.venv/ready: tests/reference/requirements.txt
	$(PYTHON) -m venv .venv
	.venv/bin/pip install -q -r tests/reference/requirements.txt
	.venv/bin/pip install -q --no-deps chattts==0.2.5
	touch $@

golden/full.safetensors: .venv/ready
	.venv/bin/python tests/reference/make_assets.py --size full --out golden/assets/full
	.venv/bin/python tests/reference/dump_golden.py --size full --threads 1 --assets golden/assets/full --out golden/full.safetensors

golden-test: golden build
	$(CARGO) test --release --locked --test golden --test voices --test codec_golden -- --nocapture

bench: build
	VOXWIRE_MODEL=$${VOXWIRE_MODEL:-$$(test -d golden/assets/full && echo $(CURDIR)/golden/assets/full || echo $(CURDIR)/models/demo)} $(CARGO) bench --locked

# The Python package and voxwire in turn on the same weights.
bench-reference: golden build
	.venv/bin/python tests/reference/compare.py --voxwire $(VOXWIRE) --assets golden/assets/full

clean:
	$(CARGO) clean
	rm -rf .venv .venv-test golden out.wav tests/web/node_modules
