// SPDX-License-Identifier: Apache-2.0

package accuracy

import (
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"snug/internal/estimate"
	"snug/internal/profile"
	"snug/internal/setup"
)

// files are the measured cases that have a peak each.
var files = []struct{ name, what string }{
	{devFile, "families × precision × optimizer × checkpointing × attention"},
	{"dev_ladder.jsonl", "the same models at small and large batches"},
	{"dev_time.jsonl", "longer runs"},
	{"dev_2l.jsonl", "two-layer models"},
	{"dev_dist.jsonl", "one rank of DDP, FSDP2, ZeRO"},
	{"more.jsonl", "other shapes and option mixes, measured after the families were written"},
	{"more_time.jsonl", "longer runs of those"},
	{"libraries.jsonl", "TRL's loss, Liger's kernels, 16-bit weights under autocast, DeepSpeed, loads in parts; simulated before they were measured"},
	{longer, "runs that began by leaving out updates, again over twenty steps"},
}

// devFile is one GPU: all families, most options.
const devFile = "dev.jsonl"

// longer holds cases of other files again, named as there and then twentySteps.
const (
	longer      = "longer.jsonl"
	twentySteps = "-20steps"
)

// Report is everything that the comparison came to.
type Report struct {
	Cases    []Case             // of all files
	Asides   []Case             // of those that count for intervals alone
	Added    estimate.Range     // off of profiles that count gradients or buckets on top
	Recorded profile.Residuals  // off of profiles, by cause
	Max      []MaxCase          // searches for the largest batch
	Choices  []measuredChoice   // recommendations, measured
	Profiles []measuredProfile  // predictions from recordings
	Overhead []measuredOverhead // the time that recording takes
	Ladders  []Rung             // predictions at growing batches
}

// Make compares all measured cases.
func Make(measured fs.FS) (r *Report, err error) {
	r = &Report{}
	var names []string
	for _, f := range files {
		names = append(names, f.name)
	}
	rows, err := loadAll(measured, names...)
	if err != nil {
		return nil, err
	}
	later, err := loadAll(measured, asides...)
	if err != nil {
		return nil, err
	}
	max, err := loadAll(measured, "dev_max.jsonl")
	if err != nil {
		return nil, err
	}
	if r.Choices, err = lines[measuredChoice](measured, "choices.jsonl"); err != nil {
		return nil, err
	}
	if r.Profiles, err = lines[measuredProfile](measured, "profiles.jsonl"); err != nil {
		return nil, err
	}
	if r.Overhead, err = lines[measuredOverhead](measured, "overhead.jsonl"); err != nil {
		return nil, err
	}
	r.Cases, r.Asides, r.Max = Compare(rows), Compare(later), CompareMax(max)
	return r, r.profiled(measured)
}

// profiled compares what profiles say.
func (r *Report) profiled(measured fs.FS) error {
	ladders, err := loadLadders(measured)
	if err != nil {
		return err
	}
	if r.Ladders, err = climb(ladders); err != nil {
		return err
	}
	if r.Added, err = added(ladders); err != nil {
		return err
	}
	r.Recorded, err = profileResiduals(measured, ladders, r.Cases)
	return err
}

func loadAll(measured fs.FS, names ...string) (rows []Row, err error) {
	for _, name := range names {
		more, err := Load(measured, name)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

const opening = `# How accurate the estimates are

Made by ` + "`make accuracy`" + ` from the measurements in ` + "`testdata/measured`" + `: real training
steps on one NVIDIA H200 with PyTorch 2.11, each case in a fresh process. The program
that ran them stands beside them, so that anyone with a GPU can repeat it. An error is
what snug says over what the run took, less one, of the **peak of reserved memory**: the
number that decides whether a run fits. "Under" counts the estimates that are short by
more than 0.1 %.

No number here was fitted: an estimate is the sum of what the simulated run allocates.
Cases with models that are code of their own (no family) are counted but not estimated;
they need a recorded profile.
`

// Markdown writes the report.
func (r *Report) Markdown() string {
	var b strings.Builder
	b.WriteString(opening)
	r.overall(&b)
	section(&b, "By model family", "family", grouped(r.Cases, func(s *setup.Setup) []string { return []string{s.Model.Family()} }))
	section(&b, "By option", "option", grouped(r.Cases, estimate.Options))
	r.exceptions(&b)
	r.intervals(&b)
	r.maxBatch(&b)
	r.times(&b)
	r.choices(&b)
	r.profiles(&b)
	r.overhead(&b)
	r.ladders(&b)
	r.peers(&b)
	return b.String()
}

func (r *Report) overall(b *strings.Builder) {
	b.WriteString("\n## Overall\n\n| cases | what | estimated | exact | median | 95th | worst | under |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, f := range files {
		var errs []float64
		n, custom := 0, 0
		for i := range r.Cases {
			c := &r.Cases[i]
			switch {
			case c.File != f.name:
			case c.Custom():
				custom++
			default:
				n++
				if c.Said != nil {
					errs = append(errs, c.Reserved())
				}
			}
		}
		s := summarize(errs)
		name := strings.TrimSuffix(f.name, ".jsonl")
		fmt.Fprintf(b, "| `%s` | %s%s | %d of %d | %d | %s | %s | %s | %d |\n", name, f.what, others(custom), s.Cases, n, s.Exact,
			percent(s.Median), percent(s.P95), signed(s.Worst), s.Under)
	}
}

func others(custom int) string {
	if custom == 0 {
		return ""
	}
	return fmt.Sprintf(" (and %d models of their own)", custom)
}

func section(b *strings.Builder, title, column string, groups []Group) {
	fmt.Fprintf(b, "\n## %s\n\n| %s | cases | exact | median | 95th | worst | under |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n", title, column)
	for _, g := range groups {
		fmt.Fprintf(b, "| %s | %d | %d | %s | %s | %s | %d |\n", g.Name, g.Cases, g.Exact, percent(g.Median), percent(g.P95), signed(g.Worst), g.Under)
	}
}

// listed is the error from which on a case is named.
const listed = 0.005

func (r *Report) exceptions(b *strings.Builder) {
	b.WriteString("\n## Every case that is off by more than 0.5 %\n\n")
	var lines []string
	for i := range r.Cases {
		c := &r.Cases[i]
		switch {
		case c.Err != nil:
			lines = append(lines, fmt.Sprintf("| %s | | | no answer: %s |", c.ID(), c.Err))
		case c.Said != nil && math.Abs(c.Reserved()) > listed:
			lines = append(lines, fmt.Sprintf("| %s | %s | %s | %s |", c.ID(), signed(c.Reserved()), signed(c.Allocated()), c.note()+r.again(c)))
		}
	}
	if len(lines) == 0 {
		b.WriteString("None.\n")
		return
	}
	slices.Sort(lines)
	b.WriteString("| case | reserved | allocated | |\n| --- | ---: | ---: | --- |\n" + strings.Join(slices.Compact(lines), "\n") + "\n")
}

// note says what was different about the real run.
func (c *Case) note() string {
	n, of := c.Skipped(), len(c.Measured.Steps)
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("the real run left out %d of its %d updates: scaled gradients overflowed; knowing that, %s",
		n, of, signed(off(c.Told.PeakReserved, c.Measured.PeakReserved)))
}

// again says how the same case came out where it was measured for longer.
func (r *Report) again(c *Case) string {
	for i := range r.Cases {
		if o := &r.Cases[i]; o.File == longer && o.ID() == c.ID()+twentySteps && o.Said != nil {
			return fmt.Sprintf(" (over twenty steps %s)", signed(o.Reserved()))
		}
	}
	return ""
}

func (r *Report) maxBatch(b *strings.Builder) {
	b.WriteString("\n## The largest batch under a limit\n\nFound by simulating every batch tried, against a bisection with real runs.\n\n| case | said | true |\n| --- | ---: | ---: |\n")
	for _, c := range r.Max {
		said := fmt.Sprint(c.Said)
		if c.Err != nil {
			said = "no answer"
		}
		fmt.Fprintf(b, "| %s | %s | %d |\n", c.ID(), said, c.Measured.MaxBatch)
	}
	b.WriteString("\n## The request that runs out of memory\n\nThe size in `CUDA out of memory. Tried to allocate …`, for every batch that did not fit.\n\n| case | batch | said | true |\n| --- | ---: | ---: | ---: |\n")
	for _, c := range r.Max {
		for _, o := range c.OOMs {
			fmt.Fprintf(b, "| %s | %d | %s | %s |\n", c.ID(), o.Batch, o.Said, o.Truth)
		}
	}
}

// peers holds the common formulas against the same cases of dev.jsonl.
func (r *Report) peers(b *strings.Builder) {
	b.WriteString("\n## The formulas in use elsewhere, on the cases of `dev`\n\nComputed by our own code (`internal/accuracy/peers.go`) from each one's published form.\n\n| | formula | cases | median | 95th | worst | under |\n| --- | --- | ---: | ---: | ---: | ---: | ---: |\n")
	write := func(name, formula string, errs []float64) {
		s := summarize(errs)
		fmt.Fprintf(b, "| %s | %s | %d | %s | %s | %s | %d |\n", name, formula, s.Cases, percent(s.Median), percent(s.P95), signed(s.Worst), s.Under)
	}
	var own []float64
	errs := make([][]float64, len(peers))
	for i := range r.Cases {
		c := &r.Cases[i]
		if c.Said == nil || c.File != files[0].name {
			continue
		}
		own = append(own, c.Reserved())
		for k, p := range peers {
			if said := p.bytes(c.Setup, float64(c.Said.Params), float64(c.Said.Trainable)); said > 0 {
				errs[k] = append(errs[k], off(uint64(said), c.Measured.PeakReserved))
			}
		}
	}
	write("snug", "the simulated run", own)
	for k, p := range peers {
		write(p.name, p.formula, errs[k])
	}
}

func percent(x float64) string { return fmt.Sprintf("%.2f %%", 100*x) }

func signed(x float64) string {
	if x == 0 {
		return "0"
	}
	return strings.Replace(fmt.Sprintf("%+.2f %%", 100*x), "-", "−", 1)
}
