// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bytes"
	"sync"
)

// tail keeps the end of what is written to it. Both of a command's outputs go through one tail, from two goroutines.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

// tailSize is enough for a Python traceback through a few libraries.
const tailSize = 32 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - tailSize; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(p), nil
}

func (t *tail) bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.kept)
}
