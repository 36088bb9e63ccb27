// SPDX-License-Identifier: Apache-2.0

//go:build unix

package record

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"snug/internal/run"
	"snug/internal/setup"
)

// A script or config that is a pipe or an endless device is refused without blocking.
func TestWhatIsNoFile(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := syscall.Mkfifo("pipe.yaml", 0o600); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink("/dev/zero", "zero.yaml"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pipe.yaml", "zero.yaml"} {
		bound := make(chan error, 1)
		go func() {
			b := binder{files: userFiles{localFiles{}}, launch: run.ReadLaunch([]string{"python", "train.py", name}), configs: []string{name}}
			_, err := b.bind(setup.Assign("batch", 2), t.TempDir())
			bound <- err
		}()
		select {
		case err := <-bound:
			if err == nil || !strings.Contains(err.Error(), "only regular files are read here") {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(time.Minute): // the work takes a millisecond
			t.Fatalf("%s is waited for", name)
		}
	}
}
