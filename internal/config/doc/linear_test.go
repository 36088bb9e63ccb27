// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

// lines repeats a line n times, replacing each %d with its number.
func lines(line string) func(n int) string { return within("", line, "") }

// within repeats a line n times between two texts.
func within(before, line, after string) func(n int) string {
	return func(n int) string {
		var b strings.Builder
		b.WriteString(before)
		for i := range n {
			b.WriteString(strings.ReplaceAll(line, "%d", fmt.Sprint(i)))
		}
		return b.String() + after
	}
}

// large lists files that can be made arbitrarily long, each in a different way. Each has content that once
// took quadratic time, here or in a library.
var large = []struct {
	format Format
	name   string
	text   func(n int) string
}{
	{Python, "names", lines("name_%d = 1\n")},
	{Python, "one name", lines("a = 1\n")},
	{Python, "attributes of many", lines("a%d.b = 1\n")},
	{Python, "attributes of one", lines("a.b%d = 1\n")},
	{Python, "an attribute behind numbers", func(n int) string {
		return "a.b = 1\n" + strings.Repeat("a = 1\n", n) + strings.Repeat("a.b = 1\n", n)
	}},
	{Python, "uses of one name", within("a = 1\n", "b%d = a\n", "")},
	{Python, "names of names", func(n int) string {
		var b strings.Builder
		b.WriteString("a0 = 1\n")
		for i := range n {
			fmt.Fprintf(&b, "a%d = a%d\n", i+1, i)
		}
		return b.String()
	}},
	{Python, "exponents", lines("a%d = 1e-5\n")},
	{Python, "functions", lines("def f%d(a):\n    x = dict(a=1, b='c')\n    return x\n")},
	{Python, "classes", lines("class A%d:\n    a: int = 1\n")},
	{Python, "statements of a line", lines("a%d = 1; ")},
	{Python, "keywords", within("a = f(", "a%d=1,\n", ")\n")},
	{Python, "lists in lists", within("a = "+strings.Repeat("[", 60), "1, ", strings.Repeat("]", 60)+"\n")},
	{Python, "options", lines("p.add_argument('--a%d', default=1)\n")},
	{Shell, "variables", lines("V%d=1\n")},
	{Shell, "flags", within("python x ", "--f%d 1 \\\n", "\n")},
	{Shell, "uses of one variable", within("A=1\npython x ", "--f%d $A \\\n", "\n")},
	{Shell, "one flag", lines("x --a 1\n")},
	{Shell, "flags below comments", lines("  # c\n  --a%d 1 \\\n")},
	{Shell, "branches", lines("if [ -f x%d ]; then A=%d; fi\n")},
	{Shell, "elements", lines("A+=(--a%d 1)\n")},
	{Shell, "exports", lines("export V%d=1\nx --a $V%d\n")},
	{Shell, "quoted commands", lines("C%d=\"python x --f%d 1\"\n")},
	{TOML, "keys", lines("k%d = 1\n")},
	{TOML, "fractions", lines("k%d = 1.5e-3\n")},
	{TOML, "tables", lines("[t%d]\na = 1\n")},
	{TOML, "tables of tables", lines("[t.t%d]\na = 1\n")},
	{TOML, "lists of tables", lines("[[t]]\n[t.a]\nb = 1\n")},
	{TOML, "dotted keys", lines("a.b.k%d = 1\n")},
	{TOML, "inline keys", within("a = {x = 1", ", k%d = 1", "}\n")},
	{TOML, "a mistake at the end", within("", "k%d = 1\n", "k0 = 1\n")},
	{YAML, "keys", lines("k%d: 1\n")},
	{YAML, "aliases", within("a: &a 1\n", "k%d: *a\n", "")},
	{YAML, "merges", within("a: &a {x: 1}\n", "k%d: {<<: *a}\n", "")},
	{YAML, "items", lines("- 1\n")},
	{JSON, "keys", within("{", "\"k%d\": 1,\n", "}")},
	{JSON, "items", within("[", "1,", "]")},
	{JSON, "a text that is not closed", within("[\"", "\\\"", "")},
}

// TestReadingIsLinear checks that reading sixteen times as many lines takes at most 36 times the bytes and 60
// times the time of a processor; a quadratic reader would take 256 times. It tries a few times, in case the machine is busy.
func TestReadingIsLinear(t *testing.T) {
	const few, many = 1000, 16000
	for _, c := range large {
		t.Run(string(c.format)+"/"+c.name, func(t *testing.T) {
			small, large := endless, endless
			for range attempts {
				small, large = small.or(workOf(c.format, c.text(few))), large.or(workOf(c.format, c.text(many)))
				if large.bytes <= 36*small.bytes && large.time <= 60*small.time {
					return
				}
			}
			t.Errorf("%d lines take %d bytes and %v, %d of them %d bytes and %v", few, small.bytes, small.time, many, large.bytes, large.time)
		})
	}
}

// work is the cost of reading a file.
type work struct {
	bytes uint64
	time  time.Duration
}

// endless is more than any real cost. attempts is how many times to try on a busy machine.
var endless = work{1 << 62, 1 << 62}

const attempts = 20

// or returns the lower of two costs of reading a file.
func (w work) or(x work) work { return work{min(w.bytes, x.bytes), min(w.time, x.time)} }

// workOf returns the lowest cost of a few tries. Each opens a file, walks it and looks up some values. Files
// that are refused are only opened.
func workOf(format Format, text string) work {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	least := endless
	for range 2 {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		begin := threadTime()
		if d, err := OpenAs("file", format, []byte(text)); err == nil {
			lookUp(d)
		}
		took := threadTime() - begin
		runtime.ReadMemStats(&after)
		least = least.or(work{after.TotalAlloc - before.TotalAlloc, took})
	}
	return least
}

// lookUp looks up a hundredth of the values, and some that do not exist.
func lookUp(d *Document) {
	n := 0
	d.Walk(func(v Value) bool {
		if n++; n%100 == 0 {
			_, _ = d.Find(v.Path)
			d.Mentions(v.Path.Join("nothing"))
			d.Mentions(Path{fmt.Sprint("nothing", n)})
		}
		return true
	})
}
