// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/allocator"
	"snug/internal/family"
	"snug/internal/gpu"
	"snug/internal/setup"
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// terse is nanoGPT's model as in the measured script, which binds neither the embeddings nor the last norm to
// variables.
type terse struct {
	family.Scripted
	w        *shadow.World
	how      family.Run
	wte, wpe *nn.Embedding
	h        []*terseBlock
	ln       *nn.LayerNorm
	head     *nn.Linear
}

func newTerse(b *nn.Builder, how family.Run) (family.Model, error) {
	const width, vocab = 768, 50304
	m := &terse{w: b.W, how: how}
	m.wte = b.Embedding("wte", vocab, width)
	m.wpe = b.Embedding("wpe", 1024, width)
	for i := range 12 {
		at := fmt.Sprintf("h.%d", i)
		l := &terseBlock{Path: shadow.Path(at), w: b.W}
		l.ln1 = b.LayerNorm(at+".ln1", width, false)
		l.qkv = b.Linear(at+".qkv", width, 3*width, false)
		l.proj = b.Linear(at+".proj", width, width, false)
		l.ln2 = b.LayerNorm(at+".ln2", width, false)
		l.fc = b.Linear(at+".fc", width, 4*width, false)
		l.out = b.Linear(at+".out", 4*width, width, false)
		m.h = append(m.h, l)
	}
	m.ln = b.LayerNorm("ln", width, false)
	m.head = b.SharedLinear("head", m.wte.Weight)
	return m, nil
}

func (m *terse) Batch() family.Batch {
	x := m.w.Input(shadow.Int64, m.how.Batch, m.how.Seq)
	return family.Batch{IDs: x, Labels: m.w.Input(shadow.Int64, m.how.Batch, m.how.Seq)}
}

func (m *terse) Groups(params []*shadow.Tensor) [][]*shadow.Tensor {
	var out [2][]*shadow.Tensor
	for _, p := range params {
		i := 0
		if p.Dim() < 2 {
			i = 1
		}
		out[i] = append(out[i], p)
	}
	return out[:]
}

// Forward runs the model.
func (m *terse) Forward(b family.Batch) (*shadow.Tensor, *shadow.Tensor) {
	fn := m.w.Func(b.IDs, b.Labels)
	x := fn.Let(m.wte.Call(b.IDs).Add(m.wpe.Call(m.w.Arange(b.IDs.Size(1)))))
	for _, block := range m.h {
		fn.Set(&x, m.w.Call(block, x))
	}
	logits := fn.Let(m.head.Call(m.ln.Call(x)))
	return fn.Return2(logits, logits.View(-1, logits.Size(-1)).CrossEntropy(b.Labels.View(-1)))
}

type terseBlock struct {
	shadow.Path
	w                  *shadow.World
	ln1, ln2           *nn.LayerNorm
	qkv, proj, fc, out *nn.Linear
}

func (l *terseBlock) Forward(fn *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	fn.Set(&x, x.Add(l.attn(l.ln1.Call(x))))
	return x.Add(l.mlp(l.ln2.Call(x)))
}

func (l *terseBlock) attn(x *shadow.Tensor) *shadow.Tensor {
	fn := l.w.Func(x)
	B, T, C := x.Size(0), x.Size(1), x.Size(2)
	qkv := l.qkv.Call(x).Split(2, C, C, C)
	for i := range qkv {
		fn.Let(qkv[i])
	}
	for i := range qkv {
		fn.Set(&qkv[i], qkv[i].View(B, T, 12, C/12).Transpose(1, 2))
	}
	y := fn.Let(l.w.SDPA(shadow.Attention{Query: qkv[0], Key: qkv[1], Value: qkv[2], Causal: true}))
	return fn.Return(l.proj.Call(y.Transpose(1, 2).Contiguous().View(B, T, C)))
}

func (l *terseBlock) mlp(x *shadow.Tensor) *shadow.Tensor {
	fn := l.w.Func(x)
	fn.Set(&x, l.fc.Call(x))
	fn.Set(&x, x.GELU())
	fn.Set(&x, l.out.Call(x))
	return fn.Return(x)
}

// TestNanoGPTMeasured compares a run of the measured script with the bytes measured on an H200 with PyTorch 2.11:
// three steps of three micro-batches of twelve samples.
func TestNanoGPTMeasured(t *testing.T) {
	s := nanoSetup(t, map[string]any{"batch": 12.0, "precision": "amp-bf16", "optimizer": "adamw-fused", "clip": true, "accumulation": 3.0})
	res, err := Run(s, Options{Local: true, Model: newTerse})
	if err != nil {
		t.Fatal(err)
	}
	v, err := allocator.ParseVersion("2.11.0")
	if err != nil {
		t.Fatal(err)
	}
	al, err := allocator.New(allocator.NewDriver(gpu.Reference.Total, gpu.Reference.Outside), v, allocator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := al.Play(res.World.Trace, allocator.PlayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got.PeakAllocated != 13870964224 || got.PeakReserved != 17368612864 {
		t.Errorf("allocated %d, reserved %d; want 13870964224, 17368612864", got.PeakAllocated, got.PeakReserved)
	}
}

// nanoSetup returns a run of nanoGPT's model without biases.
func nanoSetup(t *testing.T, fields map[string]any) *setup.Setup {
	t.Helper()
	fields["model"] = map[string]any{"config": map[string]any{"model_type": "nanogpt", "bias": false}}
	s, err := setup.Decode(fields, setup.Source{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestNanoGPTLoop compares a run with train.py on the CPU, from the first batch to the last update
// (testdata/measured/nanogpt_ops.py): when batches and logit-sized tensors are allocated and freed, and the order
// in which states are allocated.
func TestNanoGPTLoop(t *testing.T) {
	c, recorded := readPEFT(t, "testdata/nanogpt_loop/loop.txt.gz")
	s := caseSetup(c)
	s.Steps, s.Accumulation = 3, 3
	played := play(t, s, Options{OutOfPlace: true})
	const tokens, vocabulary = 3 * 100, 1000
	for what, size := range map[string]uint64{"batches": tokens * 8, "logits": tokens * vocabulary * 4} {
		want := recorded.lives(size)
		if len(want) < 40 {
			t.Errorf("%s: only %d events are recorded", what, len(want))
		}
		if diff := cmp.Diff(want, played.lives(size)); diff != "" {
			t.Errorf("%s: -recorded +played\n%s", what, diff)
		}
	}
	if diff := cmp.Diff(recorded.made("zeros_like"), played.made("zeros_like")); diff != "" {
		t.Errorf("states: -recorded +played\n%s", diff)
	}
}

// made returns the sizes of an op's results, in order.
func (l peftLog) made(op string) (out []uint64) {
	for _, e := range l.events {
		if !e.freed && e.op >= 0 && strings.Contains(l.ops[e.op], op) {
			out = append(out, e.size)
		}
	}
	return out
}

// lives returns when tensors of a size are allocated and freed, each identified by its index among them.
func (l peftLog) lives(size uint64) (out []string) {
	nth := map[int]int{}
	for _, e := range l.events {
		switch n, seen := nth[e.id]; {
		case e.freed && seen:
			out = append(out, fmt.Sprintf("- %d", n))
		case !e.freed && e.size == size:
			nth[e.id] = len(nth)
			out = append(out, fmt.Sprintf("+ %d", nth[e.id]))
		}
	}
	return out
}
