# The same commands as CI. `make test` and `make demo` need nothing but Go.
GO       ?= go
MODULES  := . bench examples integration tools
FUZZTIME ?= 3000x
SEEDS    ?= 1000
MINUTES  ?= 5

.PHONY: demo test check fmt vet staticcheck race arch32 fuzz snippets readme integration sim mutants model soak sim-shards sim-shards-scale sim-backfill vuln bench spec

demo: ## kill a real pipeline again and again and count what was lost
	@cd examples && $(GO) run ./quickstart

test: ## every test that needs no server
	@for m in $(MODULES); do (cd $$m && $(GO) test ./...) || exit 1; done

check: fmt vet staticcheck race arch32 spec fuzz snippets readme ## every gate but the servers

fmt:
	@out="$$($(GO) -C tools tool gofumpt -l $(CURDIR))"; [ -z "$$out" ] || { echo "gofumpt would change:"; echo "$$out"; exit 1; }

vet:
	@for m in $(MODULES); do (cd $$m && $(GO) vet ./...) || exit 1; done
	@cd integration && $(GO) vet -tags integration ./...

staticcheck:
	@$(GO) -C tools build -o ../bin/staticcheck honnef.co/go/tools/cmd/staticcheck
	@for m in $(MODULES); do (cd $$m && $(CURDIR)/bin/staticcheck ./...) || exit 1; done
	@cd integration && $(CURDIR)/bin/staticcheck -tags integration ./...

race:
	@for m in $(MODULES); do (cd $$m && $(GO) test -race -timeout 300s ./...) || exit 1; done

arch32: ## alignment and int width of the pure packages
	@GOARCH=386 CGO_ENABLED=0 $(GO) test ./tracker ./shards ./lambdaids

spec: ## every numbered invariant and the tests that hold it
	@$(GO) run ./tools/spec

fuzz: ## every fuzz target for FUZZTIME, a count: a time can end in "context deadline exceeded" without a fault
	@GO="$(GO)" tools/fuzz.sh $(FUZZTIME)

snippets: ## every Go snippet of the prose is code that compiles
	@$(GO) run ./tools/snippets README.md doc/*.md

readme: ## the README's commands, in a clean clone of what is committed
	@$(GO) run ./tools/readme

integration: ## servers that we did not write, started and stopped here
	@integration/servers/install.sh
	@cd integration/stores && $(GO) test -tags integration -count 1 -timeout 600s # alone: go test then shows the line of each store
	@cd integration && $(GO) test -tags integration -count 1 -timeout 600s $$($(GO) list -tags integration ./... | grep -v /stores)

sim: ## a whole deployment in virtual time: SEEDS worlds, some of them twice
	@if steady=$$(GO="$(GO)" tools/steady.sh); then \
		$(GO) run "$$steady" ./internal/simulate -seeds $(SEEDS) -repeat 200; \
	else $(GO) run ./internal/simulate -seeds $(SEEDS); fi

mutants: ## known faults put in one at a time, and what catches each
	@$(GO) run ./tools/mutants -j 2

model: ## the commit protocol and the handoff, searched exhaustively by spin
	@model/check.sh

soak: ## ddbcdc killed for MINUTES behind a failing proxy, against moto
	@integration/servers/install.sh
	@cd integration && $(GO) run -tags integration ./soak -minutes $(MINUTES)

sim-shards-scale: ## 5,000 shards for thirty days of rotation: about 25 minutes
	@$(GO) run ./shards/internal/simshards -shards 5000 -write 2h -idle 30m -describe-rate 2 -calm

sim-shards: ## weeks of rotation, faults and crashes in virtual time
	@$(GO) run ./shards/internal/simshards

sim-backfill: ## pipelines that crash at every store operation
	@$(GO) run ./backfill/internal/simbackfill

vuln: ## known vulnerabilities; asks vuln.go.dev, or the OSV folder VULNDB
	@$(GO) -C tools build -o ../bin/govulncheck golang.org/x/vuln/cmd/govulncheck
	@for m in . examples; do (cd $$m && $(CURDIR)/bin/govulncheck $(if $(VULNDB),-db $(VULNDB)) ./...) || exit 1; done

bench: bench-tracker bench-checkpoint bench-shards bench-backfill bench-lambdaids ## everything below, one after another

bench-%: ## one package beside its peers: medians and ratios
	@cd bench && $(GO) run ./$*
