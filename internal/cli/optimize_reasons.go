// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"snug/internal/plan"
	"snug/internal/term"
	"snug/internal/units"
)

// The tables of levers and reasons. Their texts are in plan/levers.go (what each costs) and plan/rejected.go
// (why a plan was not chosen).

func (r planReport) levers(b *strings.Builder) {
	if len(r.Levers) == 0 {
		return
	}
	t := term.Table{Header: []string{"lever, compared to " + strings.TrimPrefix(r.label(), "at "), "saves", "effect"}, Right: []int{1}, Indent: 2}
	widest := len(t.Header[0])
	for _, l := range r.Levers {
		widest = max(widest, len(l.Change))
	}
	room := r.s.Width - 2 - widest - 2 - 10 - 2
	for _, l := range r.Levers {
		for i, part := range wrap(strings.Fields(l.Costs), " ", room) {
			row := []string{l.Change, units.Bytes(l.Saves).String(), part}
			if i > 0 {
				row[0], row[1] = "", ""
			}
			t.Rows = append(t.Rows, row)
		}
	}
	r.table(b, t)
}

func (r planReport) rejected(b *strings.Builder) {
	if len(r.Rejected) == 0 {
		return
	}
	t := term.Table{Header: []string{"rejected", "because"}, Indent: 2}
	widest := len(t.Header[0])
	for _, x := range r.Rejected {
		widest = max(widest, utf8.RuneCountInString(x.Change))
	}
	for _, x := range r.Rejected {
		for i, part := range wrap(strings.Fields(x.Why), " ", max(r.s.Width-2-widest-2, 20)) {
			row := []string{strings.ReplaceAll(x.Change, "×", r.s.Times()), part}
			if i > 0 {
				row[0] = ""
			}
			t.Rows = append(t.Rows, row)
		}
	}
	r.table(b, t)
}

// start writes the settings that are set outside the training script.
func (r planReport) start(b *strings.Builder) {
	s := r.Recommended.Estimate.Setup
	if s.Allocator != "" && s.Allocator != r.Current.Estimate.Setup.Allocator && !r.holdsAllocator() {
		fmt.Fprintf(b, "  export PYTORCH_CUDA_ALLOC_CONF=%s\n", s.Allocator)
	}
	gpus := 1
	if s.Dist != nil {
		gpus = s.Dist.World()
	}
	if r.cpus > 0 {
		l := plan.LoaderFor(r.cpus, gpus)
		fmt.Fprintf(b, "  num_workers=%d, pin_memory=%s, persistent_workers=%s   (%s here)\n",
			l.Workers, python(l.Pinned), python(l.Persistent), counted(r.cpus, "CPU"))
	}
}

// holdsAllocator reports whether a file sets the allocator's options, or will.
func (r planReport) holdsAllocator() bool {
	return slices.ContainsFunc(r.Files, func(f plan.File) bool { return strings.HasSuffix(f.Key, "ALLOC_CONF") })
}

func python(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
