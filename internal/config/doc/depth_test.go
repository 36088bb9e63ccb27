// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// nested lists texts that nest values, each in a different way.
var nested = []struct {
	format Format
	name   string
	text   func(depth int) string
}{
	{TOML, "header", func(n int) string { return "[a" + strings.Repeat(".a", n-1) + "]\nb = 1\n" }},
	{TOML, "list of tables", func(n int) string { return "[[a" + strings.Repeat(".a", n-1) + "]]\nb = 1\n" }},
	{TOML, "dotted key", func(n int) string { return "a" + strings.Repeat(".a", n-1) + " = 1\n" }},
	{TOML, "dotted keys in inline tables", func(n int) string {
		return "a.a.a.a = " + strings.Repeat("{a.a.a.a = ", n/4) + "1" + strings.Repeat("}", n/4) + "\n"
	}},
	{TOML, "lists", func(n int) string { return "a = " + strings.Repeat("[", n) + strings.Repeat("]", n) + "\n" }},
	{TOML, "inline tables", func(n int) string { return "a = " + strings.Repeat("{a = ", n) + "1" + strings.Repeat("}", n) + "\n" }},
	{YAML, "lists", func(n int) string { return strings.Repeat("[", n) + "1" + strings.Repeat("]", n) }},
	{YAML, "maps", func(n int) string { return strings.Repeat("{a: ", n) + "1" + strings.Repeat("}", n) }},
	{YAML, "dashes", func(n int) string { return strings.Repeat("- ", n) + "1\n" }},
	{YAML, "blocks", func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.Repeat(" ", i) + "a:\n")
		}
		return b.String()
	}},
	{JSON, "lists", func(n int) string { return strings.Repeat("[", n) + "1" + strings.Repeat("]", n) }},
	{JSON, "maps", func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }},
	{JSON, "brackets that close in texts", func(n int) string {
		return strings.Repeat(`["]", /*]*/ `, n) + "1" + strings.Repeat("]", n)
	}},
	{Python, "brackets", func(n int) string { return "a = " + strings.Repeat("[", n) + strings.Repeat("]", n) + "\n" }},
	{Python, "calls", func(n int) string { return "a = " + strings.Repeat("f(a=", n) + "1" + strings.Repeat(")", n) + "\n" }},
	{Python, "attributes", func(n int) string { return "a" + strings.Repeat(".a", n) + " = 1\n" }},
	{Python, "classes", func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.Repeat(" ", i) + "class A:\n")
		}
		return b.String() + strings.Repeat(" ", n) + "a = 1\n"
	}},
	{Shell, "commands", func(n int) string { return "a=" + strings.Repeat("$(", n) + strings.Repeat(")", n) + "\n" }},
	{Shell, "variables", func(n int) string { return "a=" + strings.Repeat("${a:-", n) + strings.Repeat("}", n) + "\n" }},
	{Shell, "quotes", func(n int) string {
		return "a=" + strings.Repeat(`"$(`, n/2) + strings.Repeat(`)"`, n/2) + "\n"
	}},
	{Shell, "blocks", func(n int) string { return strings.Repeat("{ ", n) + "a" + strings.Repeat("; }", n) + "\n" }},
	{Shell, "loops", func(n int) string {
		return strings.Repeat("for i in 1 2; do ", n) + "x --a $i" + strings.Repeat("; done", n) + "\n"
	}},
}

// TestDepthIsBounded checks that values nested as deep as in real configs are read, and that deeper ones are
// refused with a one-line error, at a cost that does not grow with the depth.
func TestDepthIsBounded(t *testing.T) {
	for _, c := range nested {
		t.Run(string(c.format)+"/"+c.name, func(t *testing.T) {
			if _, err := OpenAs("file", c.format, []byte(c.text(60))); err != nil {
				t.Errorf("60 deep: %v", err)
			}
			for _, depth := range []int{70, 4000, 300_000} {
				if c.name == "blocks" || c.name == "classes" {
					depth = min(depth, 4000) // its size grows with the square of the depth
				}
				text := []byte(c.text(depth))
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				_, err := OpenAs("file", c.format, text)
				runtime.ReadMemStats(&after)
				if err == nil || !strings.HasPrefix(err.Error(), "file:") || strings.Contains(err.Error(), "\n") || !tellsDepth(err.Error()) {
					t.Fatalf("%d deep: the error is %v", depth, err)
				}
				if took, most := after.TotalAlloc-before.TotalAlloc, maxBytes(len(text)); took > most {
					t.Errorf("%d deep: %d bytes of text take %d bytes, more than %d", depth, len(text), took, most)
				}
			}
		})
	}
}

// tellsDepth reports whether a message names a depth limit: ours, or a library's if that is reached first.
func tellsDepth(message string) bool {
	return strings.Contains(message, fmt.Sprintf("nested more than %d deep", maxDepth)) ||
		strings.Contains(message, "max depth of 10000") || strings.Contains(message, "maximum of 10000 levels deep")
}

// maxBytes returns how many bytes may be allocated to read a file of the given size.
func maxBytes(size int) uint64 { return uint64(size)*4000 + 1<<20 }

// TestMergesAreBounded looks up a key through fifteen maps that each merge the next one four times: there are
// over a billion paths to the last map.
func TestMergesAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("m0: &m0 {last: 1}\n")
	for i := range 15 {
		fmt.Fprintf(&b, "m%d: &m%[1]d {<<: [*m%[2]d, *m%[2]d, *m%[2]d, *m%[2]d]}\n", i+1, i)
	}
	d, err := OpenAs("file", YAML, []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	if v, err := d.Find(Path{"m15", "last"}); err != nil || v.Data != int64(1) {
		t.Errorf("last is %v (%v), want 1", v.Data, err)
	}
	if d.Mentions(Path{"m15", "nothing"}) {
		t.Error("a key that does not exist is found")
	}
	all := "a: &a0 {x: 1}\n"
	merged := ""
	for i := range 300 {
		all += fmt.Sprintf("a%d: &a%[1]d {x%[1]d: 1}\n", i+1)
		merged += fmt.Sprintf("*a%d, ", i+1)
	}
	if d, err = OpenAs("file", YAML, []byte(all+"b: {<<: ["+merged+"]}\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Find(Path{"b", "y"}); err == nil || !strings.Contains(err.Error(), "more than 256 maps are merged") {
		t.Errorf("300 maps merged into one: the error is %v", err)
	}
}
