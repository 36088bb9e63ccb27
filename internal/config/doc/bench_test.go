// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"fmt"
	"strings"
	"testing"
)

// largeYAML returns a config of one megabyte, either in many lines or in one.
func largeYAML(oneLine bool) []byte {
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
		data := largeYAML(oneLine)
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

// BenchmarkOpen reads large files and files of typical size.
func BenchmarkOpen(b *testing.B) {
	for _, c := range []struct {
		name   string
		format Format
		text   string
	}{
		{"10000 names of Python", Python, lines("name_%d = 1\n")(10_000)},
		{"3000 functions of Python", Python, lines("def f%d(a, b):\n    x = %d\n    y = dict(a=1, b='c')\n    return x\n\n")(3000)},
		{"150 lines of shell", Shell, lines("VAR_%d=value\n")(70) + within("torchrun train.py \\\n", "  --flag_%d $VAR_%d \\\n", "  --last 1\n")(70)},
		{"40000 keys of TOML", TOML, lines("key_%d = 1\n")(40_000)},
		{"16 KB of one header of TOML", TOML, within("[a", ".a", "]\n")(8000)},
		{"16 KB of one key of TOML", TOML, within("a", ".a", " = 1\n")(8000)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			for b.Loop() {
				_, _ = OpenAs("file", c.format, []byte(c.text))
			}
		})
	}
}
