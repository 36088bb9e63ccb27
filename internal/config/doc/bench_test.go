// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"fmt"
	"strings"
	"testing"
)

// large is a config of a megabyte: in many lines, or in one.
func large(oneLine bool) []byte {
	var b strings.Builder
	if oneLine {
		b.WriteString("all: {")
	}
	for i := range 40000 {
		if oneLine {
			fmt.Fprintf(&b, "key%d: {value: %d}, ", i, i)
		} else {
			fmt.Fprintf(&b, "key%d:\n  value: %d\n", i, i)
		}
	}
	if oneLine {
		b.WriteString("}\n")
	}
	return []byte(b.String())
}

func BenchmarkLargeYAML(b *testing.B) {
	for _, oneLine := range []bool{false, true} {
		data := large(oneLine)
		b.Run(fmt.Sprintf("one line %v", oneLine), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				d, err := Open("a.yaml", data)
				if err != nil {
					b.Fatal(err)
				}
				values := 0
				d.Walk(func(Value) bool { values++; return true })
				if values < 80000 {
					b.Fatal(values)
				}
			}
		})
	}
}
