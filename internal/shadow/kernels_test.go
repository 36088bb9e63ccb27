// SPDX-License-Identifier: Apache-2.0

package shadow

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"snug/internal/kernel"
	"snug/internal/stream"
)

// probe is a row of testdata/kernels.json.gz, which contains the allocator requests of single torch 2.11 ops on
// an H200. A row has a section, the arguments, and the events: "+n" for n bytes, "-k" for the free of the op's
// k-th allocation, "-x" for an older tensor.
type probe struct {
	section string
	args    map[string]any
	events  string
}

func probes(t *testing.T) []probe {
	t.Helper()
	f, err := os.Open("testdata/kernels.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var rows [][3]any
	if err := json.NewDecoder(z).Decode(&rows); err != nil {
		t.Fatal(err)
	}
	out := make([]probe, len(rows))
	for i, r := range rows {
		out[i] = probe{r[0].(string), r[1].(map[string]any), r[2].(string)}
	}
	return out
}

func (p probe) num(key string) int {
	n, _ := p.args[key].(float64)
	return int(n)
}

func (p probe) text(key string) string {
	s, _ := p.args[key].(string)
	return s
}

func (p probe) ints(key string) []int {
	var out []int
	list, _ := p.args[key].([]any)
	for _, v := range list {
		out = append(out, int(v.(float64)))
	}
	return out
}

var probeTypes = map[string]DType{"f32": Float32, "bf16": BFloat16, "f16": Float16, "i64": Int64, "i32": Int32, "b8": Bool}

func (p probe) dtype(key string) DType { return probeTypes[p.text(key)] }

func (p probe) String() string {
	b, _ := json.Marshal(p.args)
	return p.section + " " + string(b)
}

func hopper() *World {
	return NewWorld(kernel.Rules{Torch: 211, Capability: 90, SMs: 132})
}

// watchOp returns the events of run in the file's notation.
func watchOp(w *World, run func()) string {
	from := len(w.Trace.Events)
	run()
	at := map[uint32]int{}
	var out []string
	for _, e := range w.Trace.Events[from:] {
		switch e.Kind {
		case stream.Alloc:
			at[e.ID] = len(at)
			out = append(out, fmt.Sprintf("+%d", e.Size))
		case stream.Free:
			if k, ok := at[e.ID]; ok {
				out = append(out, fmt.Sprintf("-%d", k))
			} else {
				out = append(out, "-x")
			}
		}
	}
	return strings.Join(out, " ")
}

// tally counts rows and shows the first that differ.
type tally struct{ rows, bad int }

func (c *tally) check(t *testing.T, p probe, got string) {
	t.Helper()
	c.rows++
	if got == p.events {
		return
	}
	if c.bad++; c.bad <= 12 {
		t.Errorf("%v\n got %s\nwant %s", p, got, p.events)
	}
}

func (c *tally) report(t *testing.T) {
	t.Helper()
	if c.rows == 0 {
		t.Error("no rows")
	}
	if c.bad > 0 {
		t.Errorf("%d of %d rows differ", c.bad, c.rows)
	}
}

// tensorOf makes the tensor of a reduction row: contiguous, transposed,
// channels last, or expanded.
func (p probe) tensorOf(w *World) *Tensor {
	x := w.Empty(Dims(p.ints("s")...), p.dtype("dt")).Hold()
	switch p.text("l") {
	case "t":
		return x.Transpose(0, 1).Hold()
	case "cl":
		return w.emptyStrided(x.size, channelsLast(x.size), x.dtype).Hold()
	case "e":
		return x.Slice(-1, 0, 1).ExpandAs(x.size).Hold()
	}
	return x
}

func channelsLast(s Shape) Shape {
	if s.n != 4 {
		return s.contiguous()
	}
	c, h, w := s.d[1], s.d[2], s.d[3]
	return Dims(h*w*c, 1, w*c, c)
}

func TestReductions(t *testing.T) {
	var c tally
	ops := map[string]string{"sum": "sum", "mean": "mean", "norm": "linalg_vector_norm", "sum32": "sum", "amax": "amax", "any": "any"}
	for _, p := range probes(t) {
		op, ok := ops[p.text("k")]
		if p.section != "red" || !ok {
			continue
		}
		w := hopper()
		x := p.tensorOf(w)
		dt := x.dtype
		switch {
		case op == "any":
			dt = Bool
		case p.text("k") == "sum32":
			dt = Float32
		case !dt.Floating():
			dt = Int64
		}
		c.check(t, p, watchOp(w, func() { x.reduce(op, p.ints("d"), false, dt) }))
	}
	c.report(t)
}

func TestEmbeddingBackward(t *testing.T) {
	var c tally
	for _, p := range probes(t) {
		if p.section != "emb" {
			continue
		}
		w := hopper()
		g := w.Empty(Dims(p.num("N"), p.num("W")), p.dtype("dt")).Hold()
		ids := w.Empty(Dims(p.num("N")), Int64).Hold()
		c.check(t, p, watchOp(w, func() { g.embeddingGrad(ids, p.num("V"), p.num("W")) }))
	}
	c.report(t)
}

func TestNormBackward(t *testing.T) {
	var c tally
	for _, p := range probes(t) {
		if p.section != "lnb" && p.section != "rmsb" {
			continue
		}
		want := [3]bool{true, true, false}
		if m, ok := p.args["mask"].([]any); ok {
			want = [3]bool{m[0].(bool), m[1].(bool), m[2].(bool)}
		}
		w := hopper()
		x := w.Empty(Dims(p.num("M"), p.num("N")), p.dtype("dt")).Hold()
		weight := w.Empty(Dims(p.num("N")), p.dtype("dt")).Hold()
		c.check(t, p, watchOp(w, func() { w.normGrad("native_layer_norm_backward", x, x, weight, want) }))
	}
	c.report(t)
}
