// SPDX-License-Identifier: Apache-2.0

package pysrc

import (
	"os"
	"strings"
	"testing"
)

// BenchmarkParse parses a script of 2,000 lines: a training loop, repeated.
func BenchmarkParse(b *testing.B) {
	src, err := os.ReadFile("../../testdata/measured/harness.py")
	if err != nil {
		b.Fatal(err)
	}
	lines := strings.Count(string(src), "\n")
	script := []byte(strings.Repeat(string(src), 2000/lines+1))
	b.SetBytes(int64(len(script)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse("harness.py", script); err != nil {
			b.Fatal(err)
		}
	}
}
