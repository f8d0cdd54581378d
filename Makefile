# Lichen's build. `make help` lists the targets.
GO      ?= go
BIN     := bin/lichen
SOURCES := $(shell find cmd internal -name '*.go')

.PHONY: help build test lint demo bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "%-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: $(BIN) ## build bin/lichen

$(BIN): go.mod go.sum $(SOURCES)
	$(GO) build -o $@ ./cmd/lichen

lint: ## gofmt, vet, staticcheck
	@out=$$(gofmt -l cmd internal); if [ -n "$$out" ]; then echo "not formatted by gofmt:"; echo "$$out"; exit 1; fi
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

test: lint ## lint and all tests
	$(GO) test -vet=off ./...

demo: $(BIN) ## run a throw-away node with a SQL prompt
	$(BIN) demo

bench: $(BIN) ## measure R and W, and compare with PostgreSQL 15 (DESIGN: speed is a ratio)
	bench/run.sh

clean: ## remove what was built
	rm -rf bin
