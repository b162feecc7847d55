# The tasks of this project. `make` lists the targets. All of them need Go 1.26;
# web and browser need Node 20 with npm.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
# A file of a recipe that failed is deleted, so that the next run makes it again.
.DELETE_ON_ERROR:

# make run: the address to listen at, and the folder of the store.
ADDR ?= 127.0.0.1:8080
DATA ?= data
# make build, make release: what `carrel version` prints.
VERSION ?=
# make sim: the schedule to replay; make nemesis: the seed of its faults.
SEED ?= 1
# make nemesis: how long it runs; 0 is one round of faults.
MINUTES ?= 0
# make nemesis: the gateways' --header-cache; 0 reads all headers, and nothing leaves it to them.
HEADER_CACHE ?=
# make federation: the gateway in front.
GATEWAY ?= apollo
# make simulate: the number of schedules, a quarter of which are about copies of headers. By default
# make test runs 20000.
SCHEDULES ?= 200000
# Flags for go test.
TESTFLAGS ?=
# make fuzz: the time for each target.
FUZZTIME ?= 20s
# make browser: the shell without windows takes half of the CPU time.
CHROMIUM ?= $(shell for b in chromium-headless-shell chromium chromium-browser google-chrome; do command -v $$b && break; done)

GO_FILES = $(shell git ls-files --cached --others --exclude-standard '*.go')
WEB_FILES = $(shell git ls-files --cached --others --exclude-standard web | grep -vE '\.go$$|^web/(dist|e2e|app/test)/')
CLIENT_FILES = $(shell git ls-files --cached --others --exclude-standard clients | grep -v '^clients/npm/tests/')
# All targets compile with the flags of the released binary, so each package is compiled once,
# and once for all clones on a machine. The race detector needs C: its target sets CGO_ENABLED.
export CGO_ENABLED = 0
export GOFLAGS := $(strip $(filter-out -trimpath -tags=%,$(GOFLAGS)) -trimpath -tags=grpcnotrace)

# The target lint runs vet. Otherwise each go test would vet the packages again, and once more for
# the race detector. Without debugging information (-w), linking takes half the time.
GO_TEST = go test -vet off -ldflags=-w
# For what computes all the time: with the default GOGC, the garbage collector uses a third of the
# CPU for a heap of a few megabytes, and a seventh of that of compiling everything. The limit is for
# each process.
RARE_GC = GOGC=off GOMEMLIMIT=1GiB
# Packages that run with the race detector: those with concurrency. Tests on a real Cassandra have
# their own targets.
SEQUENTIAL = /(scenario|tree|bench|demo|deploy|web|graph/internal|core/urlname)(/|$$)
CONCURRENT = $(shell go list ./... 2> /dev/null | grep -vE '$(SEQUENTIAL)|/(cassandra|nemesis)(/|$$)')

.PHONY: help
help: ## list the targets
	@echo 'Carrel: a GraphQL gateway for libraries of shared content.'; echo
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24
	@echo; echo 'Variables: ADDR=$(ADDR) DATA=$(DATA) SEED=$(SEED) SCHEDULES=$(SCHEDULES) (in make test 20000) FUZZTIME=$(FUZZTIME)'

.PHONY: run
run: build $(DATA)/secret ## start the gateway with demo data, and print a token for each demo viewer
	@if [ ! -d $(DATA)/store ]; then \
		echo 'making the demo data of the standard library of this Go'; \
		go run ./demo/generate > $(DATA)/demo.jsonl; \
		bin/carrel import $(DATA)/demo.jsonl --store pebble:$(DATA)/store.new; \
		mv $(DATA)/store.new $(DATA)/store; \
	fi
	bin/carrel serve --dev --listen $(ADDR) --store pebble:$(DATA)/store --auth-hs256-file $(DATA)/secret

.PHONY: cluster
cluster: ## start three nodes of Cassandra on this machine, until Ctrl-C (needs Java 17 and Maven)
	go run ./cassandra/cluster

.PHONY: run-cassandra
run-cassandra: build $(DATA)/secret ## the same as run, on three nodes of Cassandra
	go run ./demo/generate > $(DATA)/demo.jsonl
	ADDR=$(ADDR) DATA=$(DATA) go run ./cassandra/cluster -- .ci/demo-on-cluster

# The secret is created once, readable only by its owner.
$(DATA)/secret:
	@mkdir -p $(DATA)
	@(umask 077; head -c 32 /dev/urandom | od -An -v -tx1 | tr -d " \n" > $@)

.PHONY: build packages
build: ## build bin/carrel, web pages included
	@$(MAKE) --no-print-directory -j2 web packages
	$(RARE_GC) VERSION='$(VERSION)' REVISION="$$(git rev-parse HEAD 2> /dev/null || true)" .ci/compile bin/carrel

# npm mostly waits and uses one CPU, so what needs no web pages is compiled at the same time.
packages:
	@$(RARE_GC) go build ./cli ./gateway

.PHONY: release release-check image-check
release: ## build static binaries for all platforms, with checksums and SBOMs: make release VERSION=v1.2.3
	.ci/release '$(VERSION)'

release-check: ## build a release twice, in different folders without a shared cache, and compare
	.ci/release-check

image-check: build ## run the steps of the Dockerfile without Docker, those of the web pages too, and use the result
	$(GO_TEST) -count 1 -v -run '^TestImage' ./deploy -args -build-pages

.PHONY: web
web: web/dist/index.html ## build GraphiQL and the reference client from npm

# If npm is missing, the binary is built without the pages, and serves a plain form.
web/dist/index.html: $(WEB_FILES) clients/npm/dist/index.js
	@if command -v npm > /dev/null; then \
		$(MAKE) --no-print-directory web/node_modules/.package-lock.json; \
		cd web && npm run --silent build && touch dist/index.html; \
	else \
		echo 'npm is missing: the gateway will serve a plain form instead of GraphiQL, and no reference client'; \
	fi

# Both say first what they will run, and install what is missing if they can. Many unit tests wait for
# time to pass: meanwhile the browser, and then the simulator, use the CPU.
.PHONY: test test-all test-rest
test: ## run the tests for a change: all packages, the simulator, the binary and the browser
	@TESTFLAGS='$(TESTFLAGS)' SCHEDULES=$(if $(filter file,$(origin SCHEDULES)),20000,$(SCHEDULES)) .ci/test lint unit -- browser simulate

# What test-all runs in addition to test. The targets after -- mostly wait for Cassandra.
REST = generated simulate race test-clients -- cluster-tests faults nemesis
test-all: ## run all tests, also with the race detector, on a real Cassandra, and with third-party clients
	@TESTFLAGS='$(TESTFLAGS)' SCHEDULES=$(SCHEDULES) .ci/test lint unit $(REST) browser

test-rest: ## run what test-all runs and test does not
	@TESTFLAGS='$(TESTFLAGS)' SCHEDULES=$(SCHEDULES) .ci/test $(REST)

# BASE: the commit to compare with; by default the merge base of this branch and origin/main.
.PHONY: check
check: ## check what was changed since BASE, in two minutes: format, vet, staticcheck, unit tests
	@.ci/check $(BASE)

.PHONY: lint types
lint: types ## check formatting, run go vet and staticcheck, and check the types of the web pages
	@unformatted=$$(gofmt -l $(GO_FILES)); \
	if [ -n "$$unformatted" ]; then echo "not formatted (gofmt -w):"; echo "$$unformatted"; exit 1; fi
	$(RARE_GC) go vet ./...
	$(RARE_GC) go tool -modfile=tools/go.mod staticcheck ./...

# The types of the operations are generated first; an operation that does not match the schema
# is an error.
types: clients/npm/dist/index.js ## check the operations of the web client against the schema, and its types (needs npm)
	@if command -v npm > /dev/null; then \
		$(MAKE) --no-print-directory web/node_modules/.package-lock.json; \
		cd web && npm run --silent types; \
	else \
		echo 'npm is missing: the types of the web pages are not checked'; \
	fi

.PHONY: size
size: ## count the lines of Go, and the methods of the largest types
	@go test -vet off -count 1 -v -run '^TestSize_' ./test/tree | sed -nE 's/^ +size_test.go:[0-9]+: //p'

.PHONY: advisories
advisories: ## look for known vulnerabilities in what is shipped, and say which lists could be read
	@.ci/advisories

.PHONY: generate client-schema
generate: ## generate the code in graph, and clients/schema.graphql, from the schema
	go generate ./graph

client-schema: generate ## the same, for the schema file of client tools

.PHONY: generated
generated: ## check that the generated code and clients/schema.graphql match the schema
	$(GO_TEST) $(TESTFLAGS) ./graph/internal/generate

# Results are not cached (-count 1): some tests start the built binary or read the tree,
# which the cache does not know. Many packages wait for time to pass, so four run at once, and those
# that wait longest begin first.
.PHONY: unit
unit: ## run the tests of all packages without a target of their own
	GOGC=400 $(GO_TEST) -count 1 -p 4 -timeout 25m $(TESTFLAGS) ./test/scenario ./edge \
		$$(go list ./... | grep -vE '/(simulator|cassandra|nemesis)(/|$$)')

# Most of these tests wait for a node or for time to pass, so more of them run at once than there
# are cores.
.PHONY: cluster-tests
cluster-tests: ## run the store's tests, and scenarios, on a real Cassandra (needs Java 17 and Maven, or CASSANDRA_HOSTS)
	$(GO_TEST) -count 1 -p 2 -parallel 4 -timeout 30m $(TESTFLAGS) ./cassandra/...
	$(GO_TEST) -count 1 -timeout 25m $(TESTFLAGS) ./test/scenario -args -on cassandra

.PHONY: simulate
simulate: ## run SCHEDULES schedules of the write protocol, every ablation and every crash point
	$(RARE_GC) nice -n 10 $(GO_TEST) -count 1 -timeout 25m $(TESTFLAGS) ./test/simulator -args -count $$(( $(SCHEDULES) * 3 / 4 )) -copies $$(( $(SCHEDULES) / 4 ))

.PHONY: sim
sim: ## replay one schedule of the simulator, step by step: make sim SEED=n, and WITHOUT=name with an ablation
	CARREL_ABLATION='$(WITHOUT)' go test -count 1 -v -run '^TestReplay$$' ./test/simulator -args -seed $(SEED)

# The tests with three nodes and random faults are the target nemesis.
.PHONY: faults
faults: ## break a real Cassandra and its gateways, statement by statement
	$(GO_TEST) -count 1 -parallel 4 -timeout 30m -skip '^TestNemesis$$' $(TESTFLAGS) ./test/nemesis

# One round is 22 faults of all kinds. It takes about five minutes, longer on a slow
# machine, and ends when all faults were made. MINUTES adds rounds.
.PHONY: nemesis
nemesis: ## kill and stop three Cassandra nodes and two gateways under load, for MINUTES
	$(GO_TEST) -count 1 -v -run '^TestNemesis$$' -timeout $$(( $(MINUTES) + 30 ))m ./test/nemesis -args -seed $(SEED) -minutes $(MINUTES) $(if $(HEADER_CACHE),-header-cache $(HEADER_CACHE))

# The race detector multiplies memory, so garbage is collected more often here than in stages with
# RARE_GC. Many of these packages wait, so three run at once.
.PHONY: race
race: ## run the concurrent packages under the race detector (needs gcc)
	@command -v $$(go env CC) > /dev/null || { echo "the race detector needs a C compiler: install gcc"; exit 1; }
	CGO_ENABLED=1 GOGC=400 $(GO_TEST) -race -count 1 -p 3 -timeout 25m $(TESTFLAGS) $(CONCURRENT)

.PHONY: browser
browser: build ## use GraphiQL and the reference client in a real browser (needs chromium)
	@[ -n "$(CHROMIUM)" ] || { echo 'the browser test needs chromium: apt-get install chromium-headless-shell, or chromium'; exit 1; }
	CHROMIUM=$(CHROMIUM) .ci/browser

.PHONY: client-package
client-package: clients/npm/dist/index.js ## build the npm package carrel-client, and run its tests (needs npm)
	cd clients/npm && npm test --silent

# The web pages use the built package, as another application would.
clients/npm/dist/index.js: $(CLIENT_FILES)
	@if command -v npm > /dev/null; then \
		$(MAKE) --no-print-directory clients/npm/node_modules/.package-lock.json; \
		cd clients/npm && npm run --silent build && touch dist/index.js; \
	fi

.PHONY: test-clients client-tests federation-tests
test-clients: ## run third-party clients and federation gateways against the gateway (needs npm)
	@$(MAKE) --no-print-directory -k -j 2 client-tests federation-tests

client-tests: build client-package test/clients/node_modules/.package-lock.json
	cd test/clients && ../../.ci/with-gateway npm --silent test

federation-tests: build examples/federation/node_modules/.package-lock.json
	cd examples/federation && ../../.ci/with-gateway npm --silent test

.PHONY: federation
federation: build examples/federation/node_modules/.package-lock.json ## start Carrel and a second subgraph behind a gateway, GATEWAY=apollo or hive
	rm -f examples/federation/build/bookmarks.jsonl # its items are not in the new demo data
	cd examples/federation && GATEWAY=$(GATEWAY) ../../.ci/with-gateway node start.mjs

%/node_modules/.package-lock.json: %/package.json %/package-lock.json
	cd $* && npm ci --no-audit --no-fund --no-update-notifier
	touch $@

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME
	@go list -f '{{.Dir}}' ./... | while read -r dir; do \
		{ grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$$dir"/*_test.go 2> /dev/null || true; } | cut -c 6- | while read -r target; do \
			echo "$$dir $$target"; \
			(cd "$$dir" && go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) . < /dev/null); \
		done; \
	done

.PHONY: bench
bench: build ## measure pages, searches, a feed, updates, start and memory, next to what is wanted, and hostile requests
	go run ./test/bench
	go test -vet off -run '^$$' -bench Hostile -benchtime 60x ./edge

.PHONY: bench-cassandra
bench-cassandra: ## measure pages, a feed, updates and a node that hangs on a real Cassandra (needs Java 17 and Maven)
	go run ./test/bench -cluster

.PHONY: bench-peers
bench-peers: build test/bench/peers/node_modules/.package-lock.json ## compare Carrel with Mercurius, GraphQL Yoga, Apollo Server, gqlgen, and PostGraphile on PostgreSQL (needs npm, taskset and two idle cores, and PostgreSQL 15 for the last; five minutes)
	go run ./test/bench -peers

.PHONY: clean
clean: ## remove build results; the demo store in DATA stays
	rm -rf bin dist web/node_modules clients/npm/node_modules clients/npm/dist clients/npm/src/generated test/clients/node_modules test/clients/examples/build test/bench/peers/node_modules examples/federation/node_modules examples/federation/build
	find web/dist -mindepth 1 ! -name .keep -delete
