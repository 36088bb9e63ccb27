// SPDX-License-Identifier: Apache-2.0

// Command snug fits a training run to the GPU it runs on.
package main

import (
	"context"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"snug/internal/cli"
	"snug/internal/gpu/local"
)

// version is set by the linker for releases.
var version = "dev"

func main() {
	debug.SetGCPercent(400) // lives for a moment: memory is cheaper than collecting it
	os.Exit(cli.Run(context.Background(), cli.Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, LookupEnv: os.LookupEnv, Environ: os.Environ, Version: version,
		GPUs: local.Sources(), CPUs: runtime.NumCPU(),
		Open: func(path string) (io.ReadCloser, error) { return os.Open(path) },
	}, os.Args[1:]))
}
