# Only a few targets; for everything else, run go directly.
.PHONY: build test bench accuracy lint fuzz mutants

build:            ## the program, into bin/snug
	go build -trimpath -o bin/snug ./cmd/snug

test:             ## every test that needs nothing but Go
	go vet ./...
	go test -timeout 20m $(TESTFLAGS) ./...

bench:            ## speed: replay, reading snapshots, estimates
	go test -p 1 -run '^$$' -bench . -benchtime 2s ./...

accuracy:         ## compare with testdata/measured, write docs/accuracy.md and the tables of residuals
	go run ./internal/accuracy/report

lint:             ## the linters, at the versions CI uses, and code that only tests reach
	./.ci/lint

mutants:          ## MUTANTS small mistakes in each of four packages: those that no test notices
	go run ./internal/mutate -n $${MUTANTS:-40} -seed $${SEED:-1} -tests ./internal/shadow,./internal/simulate internal/shadow
	go run ./internal/mutate -n $${MUTANTS:-40} -seed $${SEED:-1} internal/simulate internal/estimate internal/plan

fuzz:             ## each fuzz target, FUZZTIME seconds for the most exposed
	./.ci/fuzz $${FUZZTIME:-}
