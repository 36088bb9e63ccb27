// SPDX-License-Identifier: Apache-2.0

// Command snug fits a training run to the GPU it runs on.
package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"

	"snug/internal/cli"
	"snug/internal/files"
	"snug/internal/gpu/local"
)

// version is the newest release in CHANGELOG.md or, with -dev, the one after it. The linker can override it
// (-ldflags "-X main.version=0.5.0-mine").
var version = "0.5.0-dev"

// commit is the commit that snug was built from. The linker sets it in builds for which Go records no commit, such as
// those from a git worktree or an archive.
var commit string

func main() {
	debug.SetGCPercent(400)         // snug is short-lived, so collect garbage rarely
	debug.SetMemoryLimit(640 << 20) // unless memory nears this limit; a lower limit would cost too much time
	info, _ := debug.ReadBuildInfo()
	build := cli.BuildOf(version, info)
	build.Revision = cmp.Or(build.Revision, commit)
	os.Exit(cli.Run(context.Background(), cli.Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, LookupEnv: os.LookupEnv, Environ: os.Environ, Build: build,
		GPUs: local.Sources(), Samplers: local.Samplers(), CPUs: runtime.NumCPU(),
		Open:        func(path string) (io.ReadCloser, error) { return files.OpenNamed(path) },
		Find:        func(path string) (io.ReadCloser, error) { return files.Open(path) },
		WriteFile:   writeFile,
		Listen:      func(address string) (net.Listener, error) { return net.Listen("tcp", address) },
		OnLongRun:   func() { debug.SetMemoryLimit(160 << 20) }, // a long-running command should use little memory
		OnLargeHeap: func() { debug.SetMemoryLimit(420 << 20) }, // a lower limit would keep the collector busy all the time
	}, os.Args[1:]))
}

// writeFile renames a file into place once it is complete on disk, so that readers never see a partial file.
func writeFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".snug-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
