# Few targets: everything else is an argument of go.
.PHONY: build test bench accuracy lint fuzz

build:            ## the program, into bin/snug
	go build -trimpath -o bin/snug ./cmd/snug

test:             ## every test that needs nothing but Go
	go vet ./...
	go test $(TESTFLAGS) ./...

bench:            ## speed: replay, reading snapshots, estimates
	go test -p 1 -run '^$$' -bench . -benchtime 2s ./...

accuracy:         ## compare with testdata/measured, write docs/accuracy.md and the tables of residuals
	go run ./internal/accuracy/report

lint:             ## the linters, at the versions CI uses
	go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.14.0 run

fuzz:             ## each fuzz target, FUZZTIME seconds for the most exposed
	./.ci/fuzz $${FUZZTIME:-60}
