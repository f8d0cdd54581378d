# Lichen's build. `make help` lists the targets.
GO      ?= go
BIN     := bin/lichen
COMMIT  := $(shell git rev-parse --short=12 HEAD 2>/dev/null)$(shell test -z "`git status --porcelain --untracked-files=no 2>/dev/null`" || echo +)
LDFLAGS := $(if $(COMMIT),-ldflags '-X github.com/lichendb/lichen/internal/cli.builtFrom=$(COMMIT)')
SOURCES := $(shell find cmd internal -name '*.go')

# The pages of the console. Without npm, or its packages, the binary shows a plain status page instead.
PAGES       := $(if $(shell command -v npm),internal/console/assets/dist/built)
PAGESOURCES := $(shell find web -path web/node_modules -prune -o -path web/e2e -prune -o -type f -print)

.PHONY: help build web e2e test lint logic demo bench soak plants oracle differential metamorphic mutated roundtrip cancels clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "%-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: $(BIN) ## build bin/lichen

$(BIN): go.mod go.sum $(SOURCES) $(PAGES)
	$(GO) build $(LDFLAGS) -o $@ ./cmd/lichen

internal/console/assets/dist/built: $(PAGESOURCES)
	@$(MAKE) --no-print-directory web || { echo "NOTE: the console's pages were not built: the binary has a plain status page"; mkdir -p $(dir $@); }
	@touch $@

web: ## build the pages of the console (needs Node.js and npm)
	cd web && npm ci && npm run build

e2e: $(BIN) ## test the console in Chromium (CHROMIUM, or the system's, or one that is installed for it) over a cluster of three nodes
	cd web && npm ci && npm run e2e

lint: ## gofmt, vet, staticcheck
	@out=$$(gofmt -l cmd internal); if [ -n "$$out" ]; then echo "not formatted by gofmt:"; echo "$$out"; exit 1; fi
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

test: lint ## lint and all tests
	$(GO) test -vet=off -timeout 18m ./...

logic: ## the SQL logic tests in all configurations
	LICHEN_LOGIC=all $(GO) test ./internal/sql ./internal/server -run '^TestLogic$$'

SOAK_MINUTES ?= 30
SOAK_FROM    ?= 1000

soak: $(BIN) ## simulate as many seeds of all workloads as SOAK_MINUTES allow, from SOAK_FROM on, then run generated and mutated SQL
	LICHEN_SIM_SOAK=$(SOAK_MINUTES)m LICHEN_SIM_FROM=$(SOAK_FROM) \
		$(GO) test ./internal/sim -run '^TestSoak$$' -v -timeout $$(( $(SOAK_MINUTES) + 10 ))m
	$(GO) run ./test/differential -alone -start $(BIN) -seed $(SOAK_FROM) -n 1000000 -time $$(( $(SOAK_MINUTES) * 10 ))s

plants: $(BIN) ## plant bugs (internal/plant) and see that the tests find each
	@if grep -q skip-lock-check $(BIN); then echo "planted bugs are in $(BIN)"; exit 1; fi
	$(GO) vet -tags plants ./internal/...
	$(GO) test -tags plants -vet=off ./internal/sim ./internal/kv ./internal/store ./internal/storage ./internal/apply ./internal/server ./internal/pgwire ./internal/sql/catalog ./internal/sql/exec ./internal/sql/ddl ./internal/sql/jobs ./internal/sql -run '^TestPlants' -v -timeout 60m

ORACLE_STATEMENTS ?= 60000

oracle: ## compare the parser with PostgreSQL's own (a module of its own: fetches pg_query_go, needs a C compiler)
	cd test/oracle && $(GO) vet . && $(GO) run . -n $(ORACLE_STATEMENTS)

DIFFERENTIAL_STATEMENTS ?= 100000
POSTGRES_URL ?= postgres://postgres@127.0.0.1:5432/postgres
LICHEN_URL   ?= postgres://root@127.0.0.1:26257/defaultdb

differential: ## run generated SQL on PostgreSQL 15 (POSTGRES_URL) and Lichen (LICHEN_URL) and compare
	$(GO) run ./test/differential -n $(DIFFERENTIAL_STATEMENTS) -postgres $(POSTGRES_URL) -lichen $(LICHEN_URL)

metamorphic: ## check on a node (LICHEN_URL) that answers of generated SQL relate to each other as they must
	$(GO) run ./test/differential -relations -n $(DIFFERENTIAL_STATEMENTS) -lichen $(LICHEN_URL)

mutated: ## run generated and mutated SQL on a node (LICHEN_URL): no panic, no hang, no lost connection
	$(GO) run ./test/differential -alone -n $(DIFFERENTIAL_STATEMENTS) -lichen $(LICHEN_URL)

roundtrip: ## dump what the logic scripts make with pg_dump, restore it on a node (LICHEN_URL) and PostgreSQL 15 (POSTGRES_URL), dump it again and compare
	$(GO) run ./test/roundtrip -postgres $(POSTGRES_URL) -lichen $(LICHEN_URL)

CANCELS_TRIES  ?= 3
CANCELS_SERVER ?= 0

cancels: ## cancel long statements, and calls of everything with large values, on a node (LICHEN_URL) and tell which take longer than 100 ms to end
	$(GO) run ./test/cancels -url $(LICHEN_URL) -tries $(CANCELS_TRIES) -server-pid $(CANCELS_SERVER)

demo: $(BIN) ## run a local cluster of three nodes, in memory, with a SQL prompt
	$(BIN) demo --nodes=3

bench: $(BIN) ## measure R and W, and compare with PostgreSQL 15 (DESIGN: speed is a ratio)
	bench/run.sh

clean: ## remove what was built
	rm -rf bin
