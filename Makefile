# Lichen's build. `make help` lists the targets.
GO      ?= go
BIN     := bin/lichen
COMMIT  := $(shell git rev-parse --short=12 HEAD 2>/dev/null)$(shell test -z "`git status --porcelain --untracked-files=no 2>/dev/null`" || echo +)
LDFLAGS := $(if $(COMMIT),-ldflags '-X github.com/lichendb/lichen/internal/cli.builtFrom=$(COMMIT)')
SOURCES := $(shell find cmd internal -name '*.go')

.PHONY: help build test lint demo bench soak clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "%-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: $(BIN) ## build bin/lichen

$(BIN): go.mod go.sum $(SOURCES)
	$(GO) build $(LDFLAGS) -o $@ ./cmd/lichen

lint: ## gofmt, vet, staticcheck
	@out=$$(gofmt -l cmd internal); if [ -n "$$out" ]; then echo "not formatted by gofmt:"; echo "$$out"; exit 1; fi
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

test: lint ## lint and all tests
	$(GO) test -vet=off ./...

SOAK_MINUTES ?= 30
SOAK_FROM    ?= 1000

soak: ## simulate as many seeds of all workloads as SOAK_MINUTES allow, from SOAK_FROM on
	LICHEN_SIM_SOAK=$(SOAK_MINUTES)m LICHEN_SIM_FROM=$(SOAK_FROM) \
		$(GO) test ./internal/sim -run '^TestSoak$$' -v -timeout $$(( $(SOAK_MINUTES) + 10 ))m

demo: $(BIN) ## run a throw-away node with a SQL prompt
	$(BIN) demo

bench: $(BIN) ## measure R and W, and compare with PostgreSQL 15 (DESIGN: speed is a ratio)
	bench/run.sh

clean: ## remove what was built
	rm -rf bin
