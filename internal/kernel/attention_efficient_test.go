// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestEfficientBackward compares the workspace with what PyTorch's own code asks for, over types, head widths and
// lengths. The lengths are not multiples of the tiles, which would hide a wrong tile.
func TestEfficientBackward(t *testing.T) {
	text, err := os.ReadFile("testdata/efficient.txt")
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]Type{"float32": Float32, "bfloat16": BFloat16, "float16": Float16}
	n := 0
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var name string
		var a Attention
		var want uint64
		if _, err := fmt.Sscan(line, &name, &a.Batch, &a.Heads, &a.Queries, &a.Keys, &a.Width, &want); err != nil {
			t.Fatal(line, err)
		}
		a.Type, a.KeyHeads = types[name], a.Heads
		if got := h200.EfficientBackward(a).N; got != want {
			t.Errorf("%s: got %d", strings.TrimSpace(line), got)
		}
		n++
	}
	if n < 150 {
		t.Errorf("only %d rows", n)
	}
}
