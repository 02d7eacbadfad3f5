# Soapstone: build, prove, show and measure. `make help` lists the targets.
#
# Everything that proves something uses the dev profile (overflow and debug assertions are on, and
# one compilation serves clippy, tests, documentation and the live peers); everything that shows or
# measures uses release.

SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.NOTPARALLEL:
.DEFAULT_GOAL := help

# How long each fuzz target runs in `make test`.
FUZZ_SECONDS ?= 15

target := $(or $(CARGO_TARGET_DIR),target)
# Where .ci/cargo-tool installs what is missing.
export PATH := $(CURDIR)/target/tools/bin:$(PATH)
step = @printf '\n== %s\n' "$(1)"
# Where tests leave the counts of the vectors that they did not run (crates/testkit); `not_run` adds
# them up.
not_run_counts := $(abspath $(target))/tmp/vectors-not-run
not_run = @.ci/not-run $(not_run_counts)

.PHONY: help
help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/:[^#]*## /\t/' | expand -t 16

.PHONY: setup
setup: ## install the Debian packages that building needs, those that are missing
	@command -v cargo >/dev/null || { echo 'cargo is missing: install Rust first (https://rustup.rs)' >&2; exit 1; }
	@.ci/packages gcc pkg-config libssl-dev

.PHONY: build
build: setup ## build the release programs
	$(call step,building the release programs)
	@cargo build --release --bin soapstone --bin soapstone-lab --bin soapstone-registry

.PHONY: optimized
optimized: setup ## build the programs for long use, trained on their own work: target/optimized/soapstone
	@deploy/optimized

.PHONY: size
size: build ## bytes of the release programs, stripped, by section and crate
	$(call step,building the program of the container)
	@cargo build --release --bin soapstone-container
	@.ci/size $(target)/release/soapstone-container $(target)/release/soapstone

.PHONY: demo
demo: setup ## see real calls travel through two gateways under each mechanism
	$(call step,building the programs quickly: see [profile.demo] in Cargo.toml)
	@cargo build --profile demo --package soapstone-cli --package soapstone-lab-cli --bins --no-default-features
	@$(target)/demo/soapstone demo
	@echo "These programs were built quickly: those of 'make build' need less processor time a call."

.PHONY: fmt
fmt: ## format the code; a nightly rustfmt, if there is one, wraps the comments too
	@cargo +nightly fmt --all -- --config wrap_comments=true,comment_width=100 2>/dev/null || cargo fmt --all

.PHONY: rules
rules: setup ## check formatting, lints and the rules of the house; warnings are errors
	@.ci/packages python3
	$(call step,formatting)
	@cargo fmt --all --check
	$(call step,rules of the house)
	@.ci/house-rules
	@.ci/circles
	@.ci/prose
	$(call step,lints)
	@cargo clippy --quiet --workspace --all-targets -- -D warnings

.PHONY: lint
lint: rules ## the same, and the oldest compiler and the documentation
	$(call step,the oldest compiler)
	@.ci/oldest-compiler
	$(call step,documentation)
	@RUSTDOCFLAGS='-D warnings' cargo doc --quiet --workspace --no-deps

# The programs that tests start.
.PHONY: unit-setup
unit-setup: setup
	@.ci/packages redis-server postgresql mariadb-server gmetad ganglia-monitor dnsmasq-base openssl libxml2-utils xmlsec1 iproute2 socat softhsm2 opensc p11-kit p11-kit-modules krb5-kdc krb5-admin-server krb5-user libgssapi-krb5-2
	@command -v keytool >/dev/null || .ci/packages default-jdk-headless
	@rm -rf $(not_run_counts)

# With the workspace, cargo builds both programs before it runs a test: no test has to.
test_settings = RUSTDOC=$(CURDIR)/.ci/rustdoc SOAPSTONE_PROGRAMS=built SOAPSTONE_VECTORS_NOT_RUN=$(not_run_counts)

.PHONY: unit
unit: unit-setup ## unit tests, vectors and documentation examples
	$(call step,unit tests, vectors and documentation examples)
	@$(test_settings) cargo test --quiet --workspace
	$(if $(filter test,$(MAKECMDGOALS)),,$(not_run))

# The programs that quick tests start.
.PHONY: check-setup
check-setup: setup
	@.ci/packages openssl redis-server python3 xmlsec1

.PHONY: check
check: check-setup rules ## what to run before each commit: formatting, lints, the quick tests
	@rm -rf $(not_run_counts)
	$(call step,quick tests and vectors: all but those that .ci/quick-tests names)
	@$(test_settings) .ci/side-by-side --workspace $$(.ci/quick-tests)
	$(not_run)

.PHONY: interop
interop: setup ## xmlsec1, WSS4J, CXF, Metro, WCF and zeep, in both directions; the programs that the lab measures
	$(call step,live peers)
	@SOAPSTONE_PROFILE=dev interop/run

.PHONY: report-check
report-check: unit ## the lab's report and the gateway's console in a browser, at the width of a phone and of a desk
	$(call step,the lab's report in a browser)
	@SOAPSTONE_PROFILE=dev interop/report-check
	@interop/report-check $(target)/tmp/report.html $(target)/tmp/every-figure.html
	$(call step,the gateway's console in a browser)
	@SOAPSTONE_PROFILE=dev interop/console-check

.PHONY: end-to-end
end-to-end: setup ## the demo, as a test
	$(call step,end to end: the demo)
	@cargo build --quiet --bin soapstone --bin soapstone-lab
	@$(target)/debug/soapstone demo

.PHONY: dependencies
dependencies: ## licences, sources, duplicates and advisories of what we depend on
	$(call step,dependencies)
	@.ci/cargo-tool cargo-deny
	@cargo deny --log-level error check bans licenses sources
	@cargo deny --config deny-gateway.toml --manifest-path crates/gateway/Cargo.toml --exclude-dev --log-level error check bans
	@cargo deny --config deny-engine.toml --manifest-path crates/wss/Cargo.toml --exclude-dev --log-level error check bans
	$(call step,advisories)
	@.ci/advisories

.PHONY: fuzz
fuzz: setup ## each fuzz target for FUZZ_SECONDS
	$(call step,fuzzing)
	@.ci/fuzz $(FUZZ_SECONDS)

.PHONY: test
test: lint unit interop report-check end-to-end dependencies fuzz ## everything; what continuous integration runs
	$(call step,all green)
	$(not_run)

.PHONY: lab
lab: build ## run every study at a glance, with none of its experiments left out, and report
	@.ci/packages iproute2 socat postgresql mariadb-server krb5-kdc krb5-admin-server libgssapi-krb5-2 nginx-light haproxy
	@$(target)/release/soapstone lab run all --quick
	@$(target)/release/soapstone lab report

.PHONY: lab-broker
lab-broker: build ## a glance at a broker in front of providers, beside nginx and HAProxy, and its report
	@.ci/packages nginx-light haproxy
	@$(target)/release/soapstone lab run wsarch --quick --keep lab-results/wsarch
	@$(target)/release/soapstone lab report lab-results/wsarch -o wsarch.html

.PHONY: bench
bench: build ## measure ourselves beside WSS4J, libxmlsec1 and nginx
	$(call step,engine beside WSS4J and libxmlsec1)
	@interop/bench
	$(call step,gateway beside nginx)
	@interop/throughput
