// SPDX-License-Identifier: Apache-2.0

package accuracy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"snug/internal/units"
)

// measuredChoice is one measured way to run a setup at its effective batch with a memory cap: the choice that snug
// recommended, or another.
type measuredChoice struct {
	Run         string    `json:"run"`
	CapGiB      int       `json:"cap_gib"`
	Choice      string    `json:"choice"`
	Recommended bool      `json:"recommended"`
	Measured    float64   `json:"samples_per_second"`
	Repeated    []float64 `json:"measured_runs"` // repeated measurements, in rounds that alternate between the choices
	Fits        bool      `json:"fits"`
	SaidToFit   bool      `json:"said_to_fit"`
	Evaluates   bool      `json:"evaluates"`         // whether four batches without gradients ran between the steps
	Reserved    uint64    `json:"peak_reserved"`     // measured peak of the recommended choice, if it evaluates
	Expected    uint64    `json:"expected_reserved"` // simulated peak
}

// repeated reports whether the choice was measured again.
func (c measuredChoice) repeated() bool { return len(c.Repeated) > 0 }

// speed returns the samples per second: the median of the repeated runs, if any.
func (c measuredChoice) speed() float64 {
	if !c.repeated() {
		return c.Measured
	}
	v := slices.Sorted(slices.Values(c.Repeated))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// measuredProfile is a prediction from two small recordings, with the real run.
type measuredProfile struct {
	Example   string  `json:"example"`
	Recorded  string  `json:"recorded"`
	Stacks    bool    `json:"stacks"`
	At        int     `json:"at"`
	Predicted float64 `json:"predicted_gib"`
	Real      float64 `json:"real_gib"`
	Off       float64 `json:"off"`
}

// lines reads a file with one JSON object per line.
func lines[T any](files fs.FS, name string) ([]T, error) {
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, err
	}
	var out []T
	for line := range strings.Lines(string(data)) {
		var v T
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out = append(out, v)
	}
	return out, nil
}

// choices writes a table that compares the recommended choices with the best measured ones.
func (r *Report) choices(b *strings.Builder) {
	b.WriteString("\n## Recommendations of `snug optimize`, compared with measured alternatives\n\n" +
		"Each setup has a memory limit. The table lists the recommended settings and the other choices at the same effective\n" +
		"batch (micro-batch, checkpointing, optimizer, allocator) that were expected to reach at least 72 % of its speed.\n\n" +
		"| setup | cap | recommended | measured | best measured | measured | share |\n| --- | ---: | --- | ---: | --- | ---: | ---: |\n")
	agree := 0
	for _, c := range r.Choices {
		if c.Fits == c.SaidToFit {
			agree++
		}
		if c.Recommended && !c.Evaluates {
			best := r.bestOf(c.Run)
			fmt.Fprintf(b, "| %s | %d GiB | %s | %.1f | %s | %.1f | %.1f %% |\n", c.Run, c.CapGiB, c.Choice, c.Measured, best.Choice, best.Measured, 100*c.Measured/best.Measured)
		}
	}
	b.WriteString("\nFor tinyllama the first recommendation used checkpointing and reached 90.3 %. After that we added a rule: checkpointing\n" +
		"must be expected to be more than 5 % faster, because a smaller gain is within the error of the time model. The row uses this rule.\n")
	r.evaluated(b)
	fmt.Fprintf(b, "\nIn %d of %d cases, snug predicted correctly whether a choice fits.\n", agree, len(r.Choices))
}

// evaluated writes the table of the recommended choices that were run with an evaluation.
func (r *Report) evaluated(b *strings.Builder) {
	b.WriteString("\nThe recommendations below were made later, for other setups, and run with an evaluation between the steps. All of them fit. Reserved\n" +
		"memory is the measured peak, and \"off\" is the error of snug's estimate of it. The recommended choices, and those within a tenth\n" +
		"of the best, were measured again, in rounds with a new random order each time: the speeds are medians of two to six runs. Single runs of\n" +
		"steps that are limited by the CPU differ by up to a fifth.\n\n" +
		"| setup | cap | recommended | reserved | off | measured | best measured | measured | share |\n| --- | ---: | --- | ---: | ---: | ---: | --- | ---: | ---: |\n")
	for _, c := range r.Choices {
		if c.Recommended && c.Evaluates {
			best := r.bestOf(c.Run)
			fmt.Fprintf(b, "| %s | %d GiB | %s | %.2f GiB | %s | %.1f | %s | %.1f | %.1f %% |\n", c.Run, c.CapGiB, c.Choice,
				float64(c.Reserved)/units.GiB, signed(float64(c.Expected)/float64(c.Reserved)-1), c.speed(), best.Choice, best.speed(), 100*c.speed()/best.speed())
		}
	}
}

// bestOf returns the fastest choice for a run. If some choices were measured repeatedly, it considers only those.
func (r *Report) bestOf(run string) measuredChoice {
	of := slices.DeleteFunc(slices.Clone(r.Choices), func(c measuredChoice) bool { return c.Run != run })
	if slices.ContainsFunc(of, measuredChoice.repeated) {
		of = slices.DeleteFunc(of, func(c measuredChoice) bool { return !c.repeated() })
	}
	return slices.MaxFunc(of, func(a, b measuredChoice) int { return cmp.Compare(a.speed(), b.speed()) })
}

// profiles writes a table that compares predictions from recordings with real runs.
func (r *Report) profiles(b *strings.Builder) {
	b.WriteString("\n## Any model, from two short recordings\n\n" +
		"`snug profile` recorded the unchanged scripts in `examples/` at two small batches. The prediction is for four times the larger batch.\n" +
		"\n| script | recorded at | stacks | batch | predicted | real | off |\n| --- | --- | --- | ---: | ---: | ---: | ---: |\n")
	for _, p := range r.Profiles {
		stacks := yesNo(p.Stacks)
		fmt.Fprintf(b, "| %s | %s | %s | %d | %.3f GiB | %.3f GiB | %s |\n", p.Example, p.Recorded, stacks, p.At, p.Predicted, p.Real, signed(p.Off))
	}
}

// measuredOverhead is the time that the probe adds to a script's steps.
type measuredOverhead struct {
	Example string  `json:"example"`
	Batch   int     `json:"batch"`
	Plain   float64 `json:"plain_ms"` // median step time
	Probed  float64 `json:"probed_ms"`
	Paired  float64 `json:"paired"` // median over the rounds of probed/plain time, minus one
	Low     float64 `json:"low"`    // Low and High bound nine in ten bootstrap samples of Paired
	High    float64 `json:"high"`
	Rounds  int     `json:"rounds"`
	Events  int     `json:"events"` // events recorded per step; 0 if not counted

	LargePages bool `json:"large_pages"` // whether the process requested large pages
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func (o *measuredOverhead) events() string {
	if o.Events == 0 {
		return ""
	}
	return strconv.Itoa(o.Events)
}

// overhead writes the cost of recording.
func (r *Report) overhead(b *strings.Builder) {
	b.WriteString("\nThe table shows how much the probe slows a step down while it records, without stacks; after the recording it costs nothing. Steps\n" +
		"with and without the probe alternate in one process. \"Paired\" is the median ratio over the rounds, with the range that contains nine in ten\n" +
		"resamples. These scripts are limited by the CPU, and their step times vary by a tenth (hilbert_ssm's by more). All runs are\n" +
		"listed, in order. PyTorch records each free twice; from the sixth run on, the probe kept only one of the two entries. The goal is below 3 %. The last paired\n" +
		"medians reach it, except for hilbert_ssm's second long run. Its five runs are between −4 and +6 %; weighted by their 245 rounds,\n" +
		"they average 2.6 %, which is not significantly below 3 %.\n" +
		"Most of the cost is PyTorch's own recording: 0.24 µs per event in a loop that only allocates. Half of that came from page faults as its list\n" +
		"grew; with large pages, which `snug profile` now requests, it is 0.12 µs.\n\n" +
		"| script | batch | events per step | large pages | plain | probed | paired | rounds |\n| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: |\n")
	for _, o := range r.Overhead {
		fmt.Fprintf(b, "| %s | %d | %s | %s | %.1f ms | %.1f ms, %s | %s (%s to %s) | %d |\n", o.Example, o.Batch, o.events(), yesNo(o.LargePages),
			o.Plain, o.Probed, signed(o.Probed/o.Plain-1), signed(o.Paired), signed(o.Low), signed(o.High), o.Rounds)
	}
	b.WriteString("\nFitting a step of a million events takes 0.3 s. Planning one size takes 24 to 41 ms on two idle cores, and up to 61 ms on a busy machine (the goal is 50 ms). `memory.snug` is then 14 KB for three such steps at two sizes.\n")
}
