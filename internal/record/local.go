// SPDX-License-Identifier: Apache-2.0

package record

import (
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"snug/internal/files"
	"snug/internal/run"
)

// No other file in this package accesses the machine directly.

// localFiles is this machine's file system, seen from this process's folder. It refuses pipes and devices without
// waiting for them.
type localFiles struct{}

// Limits on what is read: larger than any training script, and small enough for memory.
const (
	maxScript = 4 << 20
	maxListed = 200_000
)

func (localFiles) Open(name string) (fs.File, error)     { return files.Open(name) }
func (localFiles) ReadFile(name string) ([]byte, error)  { return files.Read(name, maxScript) }
func (localFiles) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }
func (localFiles) Inside(name string) bool               { return files.Inside(".", name) }
func (localFiles) Abs(name string) (string, error)       { return filepath.Abs(name) }
func (localFiles) ReadDir(name string) ([]fs.DirEntry, error) {
	return files.ReadDir(name, maxListed)
}
func (localFiles) MkdirAll(name string, mode fs.FileMode) error {
	return os.MkdirAll(name, mode)
}
func (localFiles) WriteFile(name string, data []byte, mode fs.FileMode) error {
	return os.WriteFile(name, data, mode)
}

func localClock() time.Time { return time.Now() }

func localTimer(d time.Duration) <-chan time.Time { return time.After(d) }

// processSignals delivers this process's signals.
type processSignals struct{}

func (processSignals) Notify(to chan<- os.Signal) { run.Notify(to) }
func (processSignals) Stop(to chan<- os.Signal)   { run.Stop(to) }
func (processSignals) Pause(s os.Signal, to chan<- os.Signal) bool {
	return run.Paused(s, to)
}
