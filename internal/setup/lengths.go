// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// Lengths describes the sample lengths of a run, if they vary. It has one of several forms. Files of lengths and
// texts are read in lengths_file.go and its neighbors.
type Lengths struct {
	Each      []int           // tokens of each step's batch, in order; after the last, the list starts again
	Uniform   *[2]int         // the shortest and the longest length
	Lognormal *Lognormal      // typical for texts
	Histogram [][2]float64    // pairs of a length and its share
	Samples   []int           // the lengths of a dataset, all equally likely
	Given     json.RawMessage // as written in the setup

	notes []string // remarks on the file that was read
	file  string   // the file with the samples, if they come from one
	order Order    // order of the samples
	pad   int      // batches are padded to a multiple of this many tokens; 0 means no padding
	most  int      // batches are padded to at most this length
	cut   int      // longer samples are truncated to this; 0 means no limit
	fixed [][]int  // lengths of each micro-batch, once drawn
}

// Lognormal is a distribution of lengths.
type Lognormal struct {
	Median float64 `json:"median"` // half of the samples are shorter
	Sigma  float64 `json:"sigma"`  // the standard deviation of the logarithm
	Max    int     `json:"max"`    // longer samples are truncated to this
}

// Limits on what is simulated.
const (
	maxLengths       = 10_000 // number of steps in a list
	maxSamples       = 1 << 22
	maxRaggedSteps   = 2_000
	usualRaggedSteps = 40
	maxBuckets       = 4096
	maxDrawn         = 4 << 20 // number of samples drawn
)

// MarshalJSON writes the lengths as given.
func (l *Lengths) MarshalJSON() ([]byte, error) { return l.Given, nil }

// UnmarshalJSON stores the JSON as given; Decode interprets it.
func (l *Lengths) UnmarshalJSON(data []byte) error {
	l.Given = slices.Clone(data)
	return nil
}

// String returns the lengths in the format of the flag.
func (l *Lengths) String() string {
	var text string
	switch {
	case json.Unmarshal(l.Given, &text) == nil:
		return text
	case l.Uniform != nil:
		return fmt.Sprintf("uniform:%d-%d", l.Uniform[0], l.Uniform[1])
	case l.Lognormal != nil:
		return fmt.Sprintf("lognormal:%g,%g,%d", l.Lognormal.Median, l.Lognormal.Sigma, l.Lognormal.Max)
	case l.Histogram != nil:
		parts := make([]string, len(l.Histogram))
		for i, b := range l.Histogram {
			parts[i] = fmt.Sprintf("%g=%g", b[0], b[1])
		}
		return "histogram:" + strings.Join(parts, ",")
	}
	parts := make([]string, len(l.Each))
	for i, n := range l.Each {
		parts[i] = strconv.Itoa(n)
	}
	return strings.Join(parts, ",")
}

// lengths reads the field: a list, a distribution, or the name of a file.
func (o *object) lengths(key string) *Lengths {
	v := o.value(key)
	if v == nil {
		return nil
	}
	l := &Lengths{}
	l.Given, _ = json.Marshal(v)
	switch v := v.(type) {
	case []any:
		l.Each = o.eachLength(key, v)
	case map[string]any:
		o.distribution(key, v, l)
	case string:
		o.lengthsText(key, v, l)
	default:
		o.fail(key, " is %s; it must be a list such as [128, 512], a distribution such as {\"uniform\": [64, 512]}, or a file", show(v))
	}
	return l
}

func (o *object) eachLength(key string, list []any) []int {
	if len(list) == 0 || len(list) > maxLengths {
		o.fail(key, " has %d entries; it must have one for each step, and at most %d", len(list), maxLengths)
		return nil
	}
	out := make([]int, len(list))
	for i, v := range list {
		out[i] = o.length(key, fmt.Sprintf("[%d]", i), v)
	}
	return out
}

// length reads a number of tokens.
func (o *object) length(key, at string, v any) int {
	f, ok := v.(float64)
	if !ok || f != math.Trunc(f) || f < 1 || f > maxSeq {
		o.fail(key, "%s is %s; a length is a whole number of tokens from 1 to %d", at, show(v), maxSeq)
		return 1
	}
	return int(f)
}

// distribution reads the JSON form of a distribution; lengths_text.go reads the flag's form.
func (o *object) distribution(key string, v map[string]any, l *Lengths) {
	in := &object{keys: v, at: o.at + key + "."}
	switch kinds := slices.Sorted(maps.Keys(v)); {
	case len(kinds) != 1:
		o.fail(key, " has %d distributions; give one of uniform, lognormal, histogram", len(kinds))
	case kinds[0] == "uniform":
		l.Uniform = in.uniform()
	case kinds[0] == "lognormal":
		l.Lognormal = in.lognormal()
	case kinds[0] == "histogram":
		l.Histogram = in.histogram()
	default:
		o.fail(key, " %s is not known; known: uniform, lognormal, histogram", kinds[0])
	}
	if o.err == nil {
		o.err = in.err
	}
}

func (o *object) uniform() *[2]int {
	list, ok := o.value("uniform").([]any)
	if !ok || len(list) != 2 {
		o.fail("uniform", " is %s; give the shortest and the longest, such as [64, 512], or uniform:64-512 on the command line", show(o.keys["uniform"]))
		return nil
	}
	out := [2]int{o.length("uniform", "[0]", list[0]), o.length("uniform", "[1]", list[1])}
	if out[0] > out[1] {
		o.fail("uniform", " goes from %d down to %d; put the shortest first", out[0], out[1])
	}
	return &out
}

func (o *object) lognormal() *Lognormal {
	in := o.inner("lognormal")
	if in == nil {
		return nil
	}
	out := &Lognormal{Median: in.number("median", 0, 1, maxSeq), Sigma: in.number("sigma", 0, 0, 10), Max: in.whole("max", 0, 1, maxSeq)}
	for _, key := range []string{"median", "sigma", "max"} {
		if in.keys[key] == nil {
			in.fail(key, " is missing; a lognormal distribution has median, sigma and max")
		}
	}
	o.adopt(in)
	return out
}

func (o *object) histogram() [][2]float64 {
	list, ok := o.value("histogram").([]any)
	if !ok || len(list) == 0 || len(list) > maxBuckets {
		o.fail("histogram", " must be a list of lengths and shares, such as [[64, 0.2], [128, 0.8]], and at most %d", maxBuckets)
		return nil
	}
	var out [][2]float64
	for i, v := range list {
		pair, _ := v.([]any)
		if len(pair) != 2 {
			o.fail("histogram", "[%d] is %s; it must be a length and its share", i, show(v))
			return nil
		}
		share, ok := pair[1].(float64)
		if !ok || math.IsNaN(share) || share < 0 || share > 1e12 {
			o.fail("histogram", "[%d] has the share %s; it must be a number, 0 or more", i, show(pair[1]))
		}
		out = append(out, [2]float64{float64(o.length("histogram", fmt.Sprintf("[%d]", i), pair[0])), share})
	}
	if total(out) <= 0 {
		o.fail("histogram", " has no share above 0")
	}
	return out
}

func total(h [][2]float64) (sum float64) {
	for _, b := range h {
		sum += b[1]
	}
	return sum
}

// Longest returns the largest number of tokens that a sample may have.
func (l *Lengths) Longest() int {
	switch {
	case l.Each != nil:
		return slices.Max(l.Each)
	case l.Samples != nil:
		return slices.Max(l.Samples)
	case l.Uniform != nil:
		return l.Uniform[1]
	case l.Lognormal != nil:
		return l.Lognormal.Max
	}
	longest := 1
	for _, b := range l.Histogram {
		if b[1] > 0 {
			longest = max(longest, int(b[0]))
		}
	}
	return longest
}

// draw returns the length of a random sample.
func (l *Lengths) draw(r *rand.Rand) int {
	switch {
	case l.Samples != nil:
		return l.Samples[r.IntN(len(l.Samples))]
	case l.Uniform != nil:
		return l.Uniform[0] + r.IntN(l.Uniform[1]-l.Uniform[0]+1)
	case l.Lognormal != nil:
		n := math.Round(l.Lognormal.Median * math.Exp(l.Lognormal.Sigma*r.NormFloat64()))
		return int(min(max(n, 1), float64(l.Lognormal.Max)))
	}
	at := r.Float64() * total(l.Histogram)
	for _, b := range l.Histogram {
		if at -= b[1]; at < 0 {
			return int(b[0])
		}
	}
	return l.Longest()
}

// completeLengths sets seq to the longest length, and steps to the number of lengths, but at least to its default.
func (s *Setup) completeLengths(saysSteps bool) error {
	l := s.Lengths
	switch {
	case l == nil:
		if s.Seed != 0 {
			return Wrong("{seed} is %d, but has no effect without {lengths}; remove it", s.Seed)
		}
		if s.Steps > maxSteps {
			return Wrong("{steps} is %d; it must be at most %d", s.Steps, maxSteps)
		}
		return nil
	case s.Seq > 0 && l.Samples != nil:
		l.cut = s.Seq
	case s.Seq > 0:
		return Wrong("{seq} is %d, but {lengths} gives the length of samples; remove one of them", s.Seq)
	}
	switch {
	case s.Model.Program != nil && !s.Model.Program.Recorded().Length:
		return Wrong("{lengths} is for batches that are padded to their longest sample, but the recorded steps do not differ only in that length; remove it")
	case s.TargetSeq > 0:
		return Wrong("{lengths} cannot be used with {target_seq}; remove one of them")
	case l.Each != nil && !saysSteps:
		s.Steps = max(len(l.Each), s.Steps) // a shorter list would end before the optimizer's states meet each length
	case !saysSteps:
		s.Steps = usualRaggedSteps
	}
	if s.Steps > maxRaggedSteps { // only possible if the steps come from a list
		return Wrong("{lengths} has %d steps; at most %d can be simulated if lengths vary", s.Steps, maxRaggedSteps)
	}
	if n := s.Steps * max(s.Accumulation, 1); n > maxRaggedSteps {
		return Wrong("{steps} %d times {accumulation} %d is more than the %d micro-batches that can be simulated if lengths vary; lower one of them", s.Steps, s.Accumulation, maxRaggedSteps)
	}
	if n := s.Steps * max(s.Accumulation, 1); l.Each == nil && s.Batch > maxDrawn/n {
		return Wrong("{batch} %d with {steps} %d needs more than the %d samples that can be drawn; lower one of them", s.Batch, s.Steps, maxDrawn)
	}
	if s.Model.Program == nil {
		s.Seq = l.padded(l.Longest())
	}
	return nil
}

// LongestOnlyFirst reports whether the longest batch of a list comes before the first update, and never again.
func (s *Setup) LongestOnlyFirst() bool {
	if s.Lengths == nil || s.Lengths.Each == nil || s.Steps == 1 {
		return false
	}
	tokens := s.Tokens()
	longest := slices.Max(tokens[0])
	for _, step := range tokens[1:] {
		if slices.Max(step) >= longest {
			return false
		}
	}
	return true
}

// Notes returns remarks on the lengths read from a file.
func (l *Lengths) Notes() []string {
	if l == nil {
		return nil
	}
	return l.notes
}
