// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// The file testdata/golden.txt.gz contains the results of each rule for a grid of shapes, cards and versions, one
// case per line: the rule's name, its arguments, a colon, and the figures. It was written when the rules were part
// of the simulator, which had been checked against recordings of an H200, so any difference is a mistake unless
// intended.

// golden reads a line's arguments one after the other.
type golden struct {
	words []string
	bad   error
}

func (g *golden) text() string {
	if len(g.words) == 0 {
		g.bad = fmt.Errorf("the line ends too early")
		return ""
	}
	word := g.words[0]
	g.words = g.words[1:]
	return word
}

func (g *golden) int() int {
	n, err := strconv.Atoi(g.text())
	if err != nil {
		g.bad = err
	}
	return n
}

func (g *golden) ints() (out []int) {
	for word := range strings.SplitSeq(g.text(), ",") {
		n, err := strconv.Atoi(word)
		if err != nil {
			g.bad = err
		}
		out = append(out, n)
	}
	return out
}

func (g *golden) flag() bool     { return g.text() == "true" }
func (g *golden) card() Rules    { return Rules{Capability: g.int(), SMs: g.int()} }
func (g *golden) release() Rules { return Rules{Torch: g.int(), Capability: g.int(), SMs: g.int()} }
func (g *golden) dtype() Type    { return typeNamed(g.text()) }
func (g *golden) element() Type  { return map[int]Type{4: Float32, 2: BFloat16}[g.int()] }
func (g *golden) kind() ConvKind {
	return map[string]ConvKind{"fprop": FProp, "dgrad": DGrad, "wgrad": WGrad}[g.text()]
}
func (g *golden) pair() Pair { return Pair{g.int(), g.int()} }
func (g *golden) shape() (a Attention) {
	a.Batch, a.Heads, a.KeyHeads, a.Queries, a.Keys, a.Width = g.int(), g.int(), g.int(), g.int(), g.int(), g.int()
	return a
}

func dims(n []int) (d Dims) {
	copy(d[:], n)
	return d
}

// listed formats figures, omitting zeros.
func listed(n ...uint64) string {
	var out []string
	for _, x := range n {
		if x > 0 {
			out = append(out, fmt.Sprint(x))
		}
	}
	return strings.Join(out, " ")
}

var h200 = Rules{Torch: 211, Capability: 90, SMs: 132}

// rules maps the first word of a line to its rule.
var rules = map[string]func(g *golden) string{
	"reduce": func(g *golden) string {
		r, k := g.card(), Reduction{g.int(), g.int()}
		x := Reduced{In: g.int(), Out: g.int(), Narrows: g.flag()}
		size := g.ints()
		x.N, x.Size, x.Stride = len(size), dims(size), dims(g.ints())
		for _, d := range g.ints() {
			x.Over[d] = true
		}
		acc, launches := r.Reduce(k, x)
		out := []uint64{acc}
		for _, l := range launches {
			out = append(out, l.Buffer, l.Semaphores)
		}
		return listed(out...)
	},
	"columns": func(g *golden) string {
		buffer, semaphores := g.card().ColumnSum(g.int(), g.int(), g.int())
		return fmt.Sprint(buffer, semaphores)
	},
	"conv": func(g *golden) string {
		return fmt.Sprint(h200.Convolution(Conv{
			Kind: g.kind(), Type: g.dtype(), Last: g.flag(), Batch: g.int(), Channels: g.int(), Size: g.pair(),
			Filters: g.int(), Kernel: g.pair(), Stride: g.int(), Padding: g.int(), Groups: g.int(),
		}).N)
	},
	"near": func(g *golden) string {
		s := convShape{
			last: g.flag(), channels: g.int(), filters: g.int(), size: g.pair(), kernel: g.pair(),
			stride: g.pair(), padding: g.pair(), dilation: g.pair(), groups: g.int(),
		}
		c, kind, e := ConvShape{s}, g.kind(), g.int()
		points := c.Workspace(kind, e, false)
		return fmt.Sprint(c.NearOther(kind, e, false, []BatchBytes{{4, points.At(4)}, {6, points.At(6)}}))
	},
	"backend": func(g *golden) string {
		r := g.release()
		t := map[bool]Type{true: BFloat16, false: Float32}[g.flag()]
		a := Attention{Type: t, Width: g.int(), Keys: g.int(), GQA: g.flag()}
		a.Mask = map[string]Mask{"dense": {Given: true}, "grad": {Given: true, Trained: true}, "strided": {Given: true, Strided: true}}[g.text()]
		return fmt.Sprint(r.AttentionBackend(a))
	},
	"attention": func(g *golden) string {
		a := g.shape()
		a.Type = g.element()
		return fmt.Sprint(h200.CudnnBackward(a).N, h200.EfficientBackward(a).N)
	},
	"flash": func(g *golden) string {
		r, a := g.card(), g.shape()
		return listed(r.FlashSplits(a))
	},
	"flashback": func(g *golden) string {
		a := g.shape()
		a.Type = g.element()
		delta, dq, wide := FlashBackward(a)
		return listed(delta, dq, wide, wide)
	},
	"sort": func(g *golden) string {
		return fmt.Sprint(h200.Sort(g.int(), g.int()).N)
	},
	"scan": func(g *golden) string { return fmt.Sprint(scanBytes(g.int(), g.int(), g.int())) },
	"fused": func(g *golden) string {
		return fmt.Sprint(g.release().EmbeddingFused(g.int(), g.int(), g.int()))
	},
	"norm":   func(g *golden) string { return fmt.Sprint(g.card().NormPartials(g.int(), g.int()).N) },
	"split":  func(g *golden) string { return fmt.Sprint(g.card().SplitWithSizes(g.ints(), g.int())) },
	"chunks": func(g *golden) string { return fmt.Sprint(ChunkCat(g.ints())) },
	"cublas": func(g *golden) string { return fmt.Sprint(g.release().Cublas().N) },
	"cublaslt": func(g *golden) string {
		r := g.release()
		bytes, kept := r.CublasLt()
		if kept {
			return listed(r.Cublas().N, bytes.N) + " | "
		}
		return listed(r.Cublas().N, bytes.N) + " | " + listed(bytes.N)
	},
	"grouped": func(g *golden) string {
		r, t, groups := g.card(), g.dtype(), g.int()
		r.Torch = 212
		out := uint64(10 * 10 * t.Bytes()) // the result of the test's product
		if args, maps, ok := r.Grouped(t, groups); ok {
			return listed(out, args, maps)
		}
		return listed(out, r.Cublas().N)
	},
}

func TestGolden(t *testing.T) {
	f, err := os.Open("testdata/golden.txt.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	seen, wrong := map[string]int{}, 0
	in := bufio.NewScanner(z)
	in.Buffer(nil, 1<<20)
	for in.Scan() && wrong < 20 {
		args, want, _ := strings.Cut(in.Text(), " : ")
		words := strings.Fields(args)
		rule := rules[words[0]]
		if rule == nil {
			t.Fatalf("no rule %q", words[0])
		}
		seen[words[0]]++
		g := &golden{words: words[1:]}
		if got := rule(g); g.bad != nil || strings.TrimSpace(got) != strings.TrimSpace(want) {
			wrong++
			t.Errorf("%s\n got %s\nwant %s (%v)", args, got, want, g.bad)
		}
	}
	if in.Err() != nil {
		t.Fatal(in.Err())
	}
	for name := range rules {
		if seen[name] < 50 {
			t.Errorf("%s: only %d lines", name, seen[name])
		}
	}
}
