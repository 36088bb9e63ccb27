// SPDX-License-Identifier: Apache-2.0

package tune

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"snug/internal/setup"
)

const gib = 1 << 30

// usual is a run with and without checkpointing on a 24 GiB card: without it, the run is a third faster and needs
// four times the activation memory.
func usual(noise float64) *machine {
	return &machine{
		limit: 24 * gib, target: 64, noise: noise, random: rand.New(rand.NewPCG(1, 2)),
		variants: []variant{
			{name: "", base: 4 * gib, each: 0.5 * gib, fixed: 0.02, per: 0.010, offMemory: 1, offSpeed: 1},
			{name: "off", base: 4 * gib, each: 2 * gib, fixed: 0.02, per: 0.0075, offMemory: 1, offSpeed: 1},
		},
	}
}

// The settings found are within 3 % of the best possible, in at most five trials, whatever is wrong with the
// predictions.
func TestClimbFinds(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*machine)
		most   int // maximum number of trials
	}{
		{"as predicted", func(*machine) {}, 3},
		{"memory 10 % higher than predicted", func(m *machine) { m.each(func(v *variant) { v.offMemory = 1 / 1.1 }) }, 4},
		{"memory 10 % lower", func(m *machine) { m.each(func(v *variant) { v.offMemory = 1.1 }) }, 4},
		{"memory 30 % higher", func(m *machine) { m.each(func(v *variant) { v.offMemory = 1 / 1.3 }) }, 5},
		{"speeds 30 % off, all alike", func(m *machine) { m.each(func(v *variant) { v.offSpeed = 1.3 }) }, 3},
		{"one variant is not as fast as predicted", func(m *machine) { m.variants[1].offSpeed = 1.2 }, 4},
		{"one variant is faster than predicted", func(m *machine) { m.variants[1].offSpeed = 0.85 }, 4},
		{"a plateau", func(m *machine) { m.each(func(v *variant) { v.fixed = 0 }) }, 4},
		{"larger batches are slower", func(m *machine) { m.each(func(v *variant) { v.knee, v.slower = 8, 1.2 }) }, 5},
		{"a plateau that was not predicted", func(m *machine) { m.each(func(v *variant) { v.fixed, v.linear = 0.005, true }) }, 5},
		{"slower batches that were not predicted", func(m *machine) { m.each(func(v *variant) { v.knee, v.slower, v.linear = 4, 1.2, true }) }, 5},
		{"a small card", func(m *machine) { m.limit = 6 * gib }, 4},
		{"a large card", func(m *machine) { m.limit = 140 * gib }, 4},
		{"only one batch fits", func(m *machine) { m.limit = 4*gib + gib*6/10 }, 3},
		{"a variant that crashes", func(m *machine) { m.variants[1].broken, m.variants[1].offSpeed = true, 0.7 }, 4},
		{"nothing is predicted", func(m *machine) {
			m.variants = m.variants[:1]
			m.variants[0].unpredicted = true
		}, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := usual(0.002)
			c.change(m)
			climb, err := m.climb(Options{})
			if err != nil {
				t.Fatal(err)
			}
			best := climb.Best()
			if best == nil {
				t.Fatalf("nothing found: %v", climb.Next().Why)
			}
			found := m.variant(best.Variant).rate(best.Batch)
			if short := 1 - found/m.best(); short > 0.03 {
				t.Errorf("%s is %.1f %% slower than the best", best.Name(), 100*short)
			}
			if climb.Runs() > c.most {
				t.Errorf("%d trials, want at most %d: %v", climb.Runs(), c.most, keys(climb))
			}
		})
	}
}

// However much the measurements vary, a climb does not end at its first batch just because the predictions see no
// difference between batches.
func TestClimbLeavesAFlatPrediction(t *testing.T) {
	for _, noise := range []float64{0, 0.01, 0.02, 0.05, 0.1, 0.2} {
		m := usual(noise)
		m.variants = m.variants[:1]
		m.each(func(v *variant) { v.fixed, v.flat = 0.06, true })
		climb, err := m.climb(Options{})
		if err != nil {
			t.Fatal(err)
		}
		best := climb.Best()
		if short := 1 - m.variant(best.Variant).rate(best.Batch)/m.best(); short > 0.03+2*noise {
			t.Errorf("noise of %g: %s is %.1f %% slower than the best; tried %v", noise, best.Name(), 100*short, keys(climb))
		}
	}
}

func (m *machine) each(change func(*variant)) {
	for i := range m.variants {
		change(&m.variants[i])
	}
}

func keys(c *Climb) []string {
	var out []string
	for _, t := range c.tried {
		out = append(out, t.Name())
	}
	return out
}

// Whatever the machine does, the answer was seen to fit, the effective batch is kept, and the number of trials is
// bounded.
func TestClimbIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMachine(t)
		most := rapid.IntRange(1, 12).Draw(t, "most")
		margin := rapid.SampledFrom([]float64{0, 0.1, 0.3}).Draw(t, "margin")
		climb, err := m.climb(Options{Most: most, Margin: margin})
		if err != nil {
			t.Fatal(err)
		}
		if climb.Runs() > most {
			t.Fatalf("%d trials, but at most %d were allowed", climb.Runs(), most)
		}
		for _, x := range climb.tried {
			if x.Effective() != m.target {
				t.Fatalf("%s makes %d, not %d", x.Name(), x.Effective(), m.target)
			}
		}
		best := climb.Best()
		if best == nil {
			return
		}
		if v := m.variant(best.Variant); v.broken || v.memory(best.Batch) > (1-margin)*float64(m.limit)+1 {
			t.Fatalf("%s does not fit", best.Name())
		}
		if best.Outcome != Fits || best.Times < 1 {
			t.Fatalf("%s was never measured to fit", best.Name())
		}
	})
}

func drawMachine(t *rapid.T) *machine {
	share := func(name string) float64 { return rapid.Float64Range(0.5, 2).Draw(t, name) }
	m := &machine{
		limit: uint64(rapid.Float64Range(1, 100).Draw(t, "limit") * gib), target: rapid.IntRange(1, 96).Draw(t, "target"),
		noise: rapid.Float64Range(0, 0.05).Draw(t, "noise"), random: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)),
	}
	for _, name := range []string{"", "off", "fused"}[:rapid.IntRange(1, 3).Draw(t, "variants")] {
		m.variants = append(m.variants, variant{
			name: name, base: rapid.Float64Range(0.1, 20).Draw(t, "base") * gib, each: rapid.Float64Range(0.01, 4).Draw(t, "each") * gib,
			fixed: rapid.Float64Range(0, 0.1).Draw(t, "fixed"), per: rapid.Float64Range(0.001, 0.1).Draw(t, "per"),
			knee: rapid.IntRange(0, 32).Draw(t, "knee"), slower: share("slower"), offMemory: share("offMemory"), offSpeed: share("offSpeed"),
			broken: rapid.Bool().Draw(t, "broken") && name != "", unpredicted: rapid.Bool().Draw(t, "unpredicted"),
		})
	}
	return m
}

// The same results lead to the same decisions, so that an interrupted tune can continue from what is stored.
func TestClimbResumes(t *testing.T) {
	m := usual(0.01)
	whole, err := m.climb(Options{})
	if err != nil {
		t.Fatal(err)
	}
	results := map[string][]Result{}
	all, start := m.candidates()
	again, _ := New(all, start, Options{Limit: m.limit})
	replay, _ := New(all, start, Options{Limit: m.limit})
	m = usual(0.01)
	for s := again.Next(); s.Next != nil; s = again.Next() {
		r := m.run(*s.Next)
		results[s.Next.Key()] = append(results[s.Next.Key()], r)
		again.Record(*s.Next, r)
	}
	for s := replay.Next(); s.Next != nil; s = replay.Next() {
		replay.Record(*s.Next, Result{Outcome: Interrupted}) // not evidence
		if same := replay.Next(); same.Next.Key() != s.Next.Key() {
			t.Fatalf("after an interruption %s is next, not %s", same.Next.Key(), s.Next.Key())
		}
		k := s.Next.Key()
		replay.Record(*s.Next, results[k][0])
		results[k] = results[k][1:]
	}
	if diff := cmp.Diff(again.tried, replay.tried); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(keys(whole), keys(replay)); diff != "" {
		t.Error(diff)
	}
}

func one(batch int, predicted uint64) Candidate {
	return Candidate{Settings: setup.Assign("batch", batch).With("accumulation", 16/batch), Batch: batch, Accumulation: 16 / batch, World: 1, Predicted: predicted, Expected: 25 * float64(batch)}
}

// Each decision includes its evidence.
func TestDecisions(t *testing.T) {
	all := []Candidate{one(2, 4*gib), one(4, 6*gib), one(8, 10*gib), one(16, 18*gib)}
	climb := func() *Climb {
		c, err := New(all, 2, Options{Limit: 12 * gib})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	check := func(c *Climb, verb, key, why string) {
		t.Helper()
		s, next := c.Next(), ""
		if s.Next != nil {
			next = s.Next.Size()
		}
		if s.Verb != verb || next != key || !strings.Contains(s.Why, why) {
			t.Errorf("%s %q because %q, want %s %q because …%s…", s.Verb, next, s.Why, verb, key, why)
		}
	}
	c := climb()
	check(c, "start", "8 x 2", "the prediction is 10.00 GiB of 12.00 GiB (83 %)")
	c.Record(all[2], Result{Outcome: OutOfMemory, Why: "ran out of GPU memory, asking for 2.00 GiB"})
	check(c, "step back", "4 x 4", "batch 8 x 2: ran out of GPU memory, asking for 2.00 GiB")
	c.Record(all[1], Result{Outcome: Fits, Reserved: 7 * gib, Rate: 100, Noise: 0.001})
	check(c, "stay", "", "17 % more than predicted")
	if b := c.Best(); b == nil || b.Batch != 4 {
		t.Errorf("the best is %v", b)
	}

	c = climb()
	c.Record(all[2], Result{Outcome: Fits, Reserved: 6 * gib, Rate: 100, Noise: 0.001})
	check(c, "step up", "16 x 1", "40 % less than predicted")
	c.Record(all[3], Result{Outcome: Fits, Reserved: 10 * gib, Rate: 101.5, Noise: 0.001})
	check(c, "again", "16 x 1", "is 1.5 % faster than batch 8 x 2, and measurements vary by up to 1.0 %")
	c.Record(all[3], Result{Outcome: Fits, Reserved: 10 * gib, Rate: 99.5, Noise: 0.001})
	if b := c.Best(); b == nil || b.Batch != 8 {
		t.Errorf("a gain that was not confirmed was kept: %v", b)
	}

	c = climb()
	c.Record(all[2], Result{Outcome: Crashed, Why: "ValueError: no"})
	check(c, "stop", "", "crashed: ValueError: no")
	if c.Err() == nil {
		t.Error("a command that fails by itself is not an error")
	}

	c = climb()
	for _, x := range []int{2, 1, 0} {
		c.Record(all[x], Result{Outcome: OutOfMemory, Why: "no memory"})
	}
	check(c, "stop", "", "that is the smallest batch")
}

// TestNew checks the errors for mistakes by the caller.
func TestNew(t *testing.T) {
	if _, err := New(nil, 0, Options{}); err == nil {
		t.Error("no error without candidates")
	}
	other := one(4, gib)
	other.Accumulation = 5
	if _, err := New([]Candidate{one(2, gib), other}, 0, Options{}); err == nil {
		t.Error("no error for two effective batches")
	}
	if _, err := New([]Candidate{one(2, gib), one(2, gib)}, 0, Options{}); err == nil {
		t.Error("no error for a duplicate candidate")
	}
}

// The speed of a run is the mean of its steps after the warm-up, with its uncertainty.
func TestSpeed(t *testing.T) {
	for _, c := range []struct {
		times          []float64
		seconds, noise float64
	}{
		{nil, 0, 1},
		{[]float64{9}, 9, 1},
		{[]float64{9, 5, 3, 1}, 1, 1},
		{[]float64{9, 5, 3, 1, 1, 1, 1, 1}, 1, 0},
		{[]float64{9, 5, 3, 0.9, 1.1, 0.9, 1.1, 1}, 1, 2.776 * 0.1 / math.Sqrt(5)},
		{[]float64{9, 5, 3, 0, math.NaN(), math.Inf(1), 2, 2}, 2, 0},
	} {
		seconds, noise := Speed(c.times)
		if math.Abs(seconds-c.seconds) > 1e-9 || math.Abs(noise-c.noise) > 1e-3 {
			t.Errorf("%v: %v, %v; want %v, %v", c.times, seconds, noise, c.seconds, c.noise)
		}
	}
}

// Over many machines with realistic prediction errors, nearly all answers are within 3 % of the best, and most need
// at most three trials.
func TestClimbUsually(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	within := func(low, high float64) float64 { return low + (high-low)*random.Float64() }
	const machines = 500
	near, trials, most := 0, 0, 0
	for range machines {
		m := &machine{limit: uint64(within(10, 100) * gib), target: []int{16, 48, 64, 128, 256}[random.IntN(5)], noise: 0.003, random: random}
		base, each, fixed, per := within(1, 8)*gib, within(0.05, 2)*gib, within(0.001, 0.05), within(0.002, 0.02)
		for _, v := range []struct {
			name         string
			memory, time float64
		}{{"", 1, 1}, {"off", within(2, 5), within(0.65, 0.85)}, {"fused", 1, within(0.95, 1)}} {
			m.variants = append(m.variants, variant{
				name: v.name, base: base, each: each * v.memory, fixed: fixed, per: per * v.time,
				offMemory: within(0.97, 1.03), offSpeed: within(0.9, 1.1),
			})
		}
		c, err := m.climb(Options{})
		if err != nil {
			t.Fatal(err)
		}
		best := c.Best()
		if best == nil {
			t.Fatalf("nothing found: %s", c.Next().Why)
		}
		trials, most = trials+c.Runs(), max(most, c.Runs())
		if m.variant(best.Variant).rate(best.Batch) >= 0.97*m.best() {
			near++
		}
	}
	if near < machines*95/100 || trials > machines*3 || most > DefaultTrials {
		t.Errorf("%d of %d within 3 %%, %.2f trials in the mean, %d at most", near, machines, float64(trials)/machines, most)
	}
	t.Logf("%d of %d within 3 %%, %.2f trials in the mean, %d at most", near, machines, float64(trials)/machines, most)
}

// candidateOf returns a candidate at an effective batch of 384.
func candidateOf(variant string, batch int, predicted, expected float64) Candidate {
	return Candidate{
		Settings: setup.Assign("batch", batch).With("variant", variant), Variant: variant, Batch: batch, Accumulation: 384 / batch, World: 1,
		Predicted: uint64(predicted * gib), Expected: expected,
	}
}

// If the first trial shows that speeds cannot be predicted, the other variant is tried although it was expected to be
// slower. Measured with a program that is limited by the CPU: with checkpointing 590 samples per second, not 827, and
// without it 678.
func TestPoorSpeeds(t *testing.T) {
	for _, c := range []struct {
		rate float64 // of the first trial
		want bool    // whether the other variant is tried
	}{{827, false}, {780, false}, {590, true}} {
		list := []Candidate{candidateOf("", 384, 9.6, 827), candidateOf("off", 192, 22, 480)}
		climb, err := New(list, 0, Options{Limit: 24 * gib})
		if err != nil {
			t.Fatal(err)
		}
		climb.Record(list[0], Result{Outcome: Fits, Reserved: list[0].Predicted, Rate: c.rate, Noise: 0.02})
		if next := climb.Next().Next; (next != nil) != c.want {
			t.Errorf("after %.0f samples/s: next is %v, want the other variant: %v", c.rate, next, c.want)
		}
	}
}

// Memory that exceeds its prediction at one batch need not exceed it at another. A larger batch that is
// predicted to fit is tried, and before a smaller one.
func TestFragmentedNeighbor(t *testing.T) {
	list := []Candidate{candidateOf("", 16, 15.5, 97), candidateOf("", 12, 11.9, 95), candidateOf("", 24, 22.6, 99)}
	climb, err := New(list, 0, Options{Limit: 24 * gib})
	if err != nil {
		t.Fatal(err)
	}
	climb.Record(list[0], Result{Outcome: Fits, Reserved: 149 * gib / 10, Rate: 257, Noise: 0.001})
	if next := climb.Next().Next; next == nil || next.Batch != 24 {
		t.Errorf("after 16: next is %v, want 24", next)
	}
	for _, c := range []struct {
		reserved float64 // of batch 12, predicted to take 11.9
		want     bool    // whether 16, predicted to take 15.5 of 16, may fit
	}{{12.85, true}, {14, false}} {
		climb, err = New(list[:2], 1, Options{Limit: 16 * gib})
		if err != nil {
			t.Fatal(err)
		}
		climb.Record(list[1], Result{Outcome: Fits, Reserved: uint64(c.reserved * gib), Rate: 250, Noise: 0.001})
		if got := climb.mayFit(list[0]); got != c.want {
			t.Errorf("after batch 12 took %.2f GiB: 16 may fit %v, want %v", c.reserved, got, c.want)
		}
	}
}
