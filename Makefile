# warmpool. Nothing has to be installed by hand: tools are built from the Go module registry into .cache/bin, each from
# a nested module of its own, so that their dependencies never reach go.mod.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

BIN := $(CURDIR)/.cache/bin
export PATH := $(BIN):$(PATH)
GO ?= go
PKGS ?= ./...
DEMO_FOR ?= 90s
FUZZTIME ?= 30s
IMAGE_PLATFORMS ?= linux/amd64,linux/arm64

.PHONY: help
help: ## Show this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort | awk -F'\t' '{printf "  %-14s %s\n", $$1, $$2}'

# --- run

.PHONY: build
build: ## Build bin/warmpool
	$(GO) build -trimpath -o bin/warmpool ./cmd/warmpool

.PHONY: demo
demo: build ## A day in the life of a virtual cluster, accelerated, against the real server (no cluster, no Prometheus)
	bin/warmpool serve --demo --for $(DEMO_FOR)

.PHONY: run
run: build ## Serve with CONFIG=path (default deploy/examples/warmpool.yaml)
	bin/warmpool serve --config $${CONFIG:-deploy/examples/warmpool.yaml} --tls-self-signed .warmpool/tls --data-dir .warmpool/data

# --- tools

# A tool is rebuilt when its module's checksums change.
$(BIN)/buf $(BIN)/protoc-gen-go $(BIN)/protoc-gen-go-grpc $(BIN)/ko &: tools/go.sum
	cd tools && $(GO) build -o $(BIN)/ github.com/bufbuild/buf/cmd/buf google.golang.org/protobuf/cmd/protoc-gen-go google.golang.org/grpc/cmd/protoc-gen-go-grpc github.com/google/ko
	@touch $(BIN)/buf $(BIN)/protoc-gen-go $(BIN)/protoc-gen-go-grpc $(BIN)/ko

$(BIN)/golangci-lint $(BIN)/gofumpt $(BIN)/govulncheck &: tools/lint/go.sum
	cd tools/lint && $(GO) build -o $(BIN)/ github.com/golangci/golangci-lint/v2/cmd/golangci-lint mvdan.cc/gofumpt golang.org/x/vuln/cmd/govulncheck
	@touch $(BIN)/golangci-lint $(BIN)/gofumpt $(BIN)/govulncheck

# Only static targets are needed, so the service discoveries and their cloud SDKs stay out of the build.
$(BIN)/prometheus $(BIN)/promtool &: tools/prometheus/go.sum
	cd tools/prometheus && $(GO) build -tags remove_all_sd -o $(BIN)/ github.com/prometheus/prometheus/cmd/prometheus github.com/prometheus/prometheus/cmd/promtool
	@touch $(BIN)/prometheus $(BIN)/promtool

$(BIN)/helm: tools/helm/go.sum
	cd tools/helm && $(GO) build -o $(BIN)/ helm.sh/helm/v4/cmd/helm
	@touch $@

# --- check

.PHONY: test
test: $(BIN)/prometheus $(BIN)/promtool $(BIN)/helm ## Run the tests, a real Prometheus and the Helm chart included
	WARMPOOL_REQUIRE_PROMETHEUS=1 WARMPOOL_REQUIRE_HELM=1 $(GO) test -shuffle=on -timeout 20m $(PKGS)

.PHONY: test-race
test-race: $(BIN)/prometheus $(BIN)/promtool ## The same with the race detector
	WARMPOOL_REQUIRE_PROMETHEUS=1 $(GO) test -race -shuffle=on -timeout 40m $(PKGS)

.PHONY: faults
faults: ## Every pair of faults, then 1,000 kills under load (KILLS=n); minutes
	$(GO) test -count=1 -timeout 40m ./test/faults -pairs
	$(GO) run ./test/faults/kill -n $${KILLS:-1000}

.PHONY: test-keda
test-keda: build ## KEDA's own client against the running server (its build takes minutes when cold)
	cd test/keda && WARMPOOL_BINARY=$(CURDIR)/bin/warmpool $(GO) test -count=1 -timeout 20m ./...

.PHONY: control-plane
control-plane: $(BIN)/prometheus $(BIN)/promtool $(BIN)/helm ## What the end-to-end tests run on; nothing to do when it is there
	GO=$(GO) tools/control-plane/build.sh .cache/control-plane
	GO=$(GO) tools/control-plane/types.sh .cache/types

.PHONY: e2e
e2e: build control-plane ## warmpool on a real control plane with KEDA (its build takes minutes when cold)
	WARMPOOL_E2E=1 WARMPOOL_BINARY=$(CURDIR)/bin/warmpool $(GO) test -count=1 -timeout 40m -parallel 8 ./test/cluster/

.PHONY: test-web
test-web: build ## The operator's page in headless Chromium (skipped without one; WARMPOOL_REQUIRE_CHROMIUM=1 insists)
	@if [ -z "$${WARMPOOL_REQUIRE_CHROMIUM:-}" ] && ! command -v "$${CHROMIUM:-chromium}" chromium-browser google-chrome >/dev/null; then \
		echo "test-web: skipped, no Chromium found (apt-get install chromium, or give its path in CHROMIUM)"; \
	else cd test/web && npm ci --no-audit --no-fund --loglevel=error && WARMPOOL_BINARY=$(CURDIR)/bin/warmpool node --test page.test.js; fi

.PHONY: screenshots
screenshots: build ## The same, and take the pictures of docs/operating.md
	cd test/web && npm ci --no-audit --no-fund --loglevel=error && WARMPOOL_REQUIRE_CHROMIUM=1 WARMPOOL_SCREENSHOTS=$(CURDIR)/docs/images WARMPOOL_BINARY=$(CURDIR)/bin/warmpool node --test page.test.js

.PHONY: lint
lint: $(BIN)/golangci-lint $(BIN)/buf ## Linters, proto lint and breaking changes, generated code
	golangci-lint run
	buf lint
	buf breaking --against proto/released.binpb
	$(MAKE) --no-print-directory licences verify

.PHONY: fmt
fmt: $(BIN)/gofumpt ## Format the code
	gofumpt -w $$(git ls-files '*.go' | grep -v '\.pb\.go$$')

.PHONY: generate
generate: $(BIN)/buf ## Generate the protocol code
	buf generate

.PHONY: protocol-release
protocol-release: $(BIN)/buf ## Record the protocols as released: what later changes must stay compatible with
	buf build -o proto/released.binpb

.PHONY: formats-release
formats-release: ## The same for the configuration (its keys, what golden files compile to) and for stored state
	$(GO) test ./config ./decisions ./engine -run Released -release

.PHONY: verify
verify: generate ## Fail when generated code is not committed
	git diff --exit-code -- proto

.PHONY: licences
licences: ## Every module in the binary has a licence of the allow list, read from its own files (offline)
	cd tools/licences && $(GO) run . $(CURDIR) ./cmd/warmpool

.PHONY: vuln
vuln: $(BIN)/govulncheck ## Known vulnerabilities in what the binary calls (needs the vulnerability database; VULNDB=file:///dir for a copy)
	govulncheck $(if $(VULNDB),-db $(VULNDB)) ./...

.PHONY: fuzz
fuzz: ## Fuzz every decoder for FUZZTIME each
	tools/fuzz.sh $(FUZZTIME)

# --- measure

.PHONY: bench
bench: ## The fixed benchmark subset on recorded traces (TRACES=dir); writes docs/benchmarks.md
	tools/bench.sh

.PHONY: bench-full
bench-full: ## Every series, need and start-up time: hours; writes docs/benchmarks.md
	tools/bench.sh -full

.PHONY: bench-spot
bench-spot: ## The rules for services on spot, on recorded traffic and availability; writes docs/spot-results.md
	nice go run ./bench/spot -out docs/spot-results.md

.PHONY: load
load: build ## The real server under 1,000 scaled objects for a quarter of an hour; writes docs/reliability.md
	$(GO) run ./bench/load/run -binary bin/warmpool -write docs/reliability.md

.PHONY: load-stress
load-stress: build ## The same with 10,000, in 10 minutes
	$(GO) run ./bench/load/run -binary bin/warmpool -objects 10000 -few 8 -many 400 -streams 500 -forecasts 200 -warmup 6m -for 4m -write docs/reliability.md

# --- ship

.PHONY: image
image: $(BIN)/ko ## Build bin/warmpool-image.tar, an OCI archive with SBOM, without a daemon (its base comes from a registry)
	rm -rf bin/image && mkdir -p bin/image
	KO_DOCKER_REPO=ghcr.io/warmpool/warmpool ko build --push=false --bare --sbom=spdx --sbom-dir=bin/image-sbom --platform=$(IMAGE_PLATFORMS) --oci-layout-path=bin/image ./cmd/warmpool
	tar -C bin/image -cf bin/warmpool-image.tar .

.PHONY: clean
clean: ## Remove what was built
	rm -rf bin .cache .warmpool
