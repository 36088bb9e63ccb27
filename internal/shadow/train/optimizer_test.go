// SPDX-License-Identifier: Apache-2.0

package train

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/shadow"
	"snug/internal/stream"
)

// TestOptimizers compares the allocations and frees of optimizers with those of torch, lion-pytorch and
// bitsandbytes, in two steps over parameters of two types (testdata/measured/optim_ops.py).
func TestOptimizers(t *testing.T) { testOptimizers(t, "testdata/optimizers.txt", 9) }

// TestTorchao does what TestOptimizers does, for torchao (testdata/standin/torchao_ops.py).
func TestTorchao(t *testing.T) { testOptimizers(t, "testdata/torchao.txt", 1) }

func testOptimizers(t *testing.T, file string, least int) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(data), "\n")
	shapes := strings.Fields(strings.TrimPrefix(head, "# parameters "))
	cases := strings.Split(rest, "# optimizer ")[1:]
	if len(cases) < least || len(shapes) < 8 {
		t.Fatalf("%d optimizers over %d parameters are recorded", len(cases), len(shapes))
	}
	for _, c := range cases {
		title, want, _ := strings.Cut(c, "\n")
		name, _, _ := strings.Cut(title, ",")
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(twoSteps(t, name, shapes), "\n")); diff != "" {
				t.Errorf("-recorded +simulated:\n%s", diff)
			}
		})
	}
}

// twoSteps returns an optimizer's events in the format of the recordings.
func twoSteps(t *testing.T, name string, shapes []string) string {
	t.Helper()
	w := newWorld()
	var params []*shadow.Tensor
	for _, s := range shapes {
		params = append(params, trained(t, w, s))
	}
	var out strings.Builder
	number := map[uint32]int{}
	at := len(w.Trace.Events)
	told := func(what string, do func()) {
		fmt.Fprintln(&out, what)
		do()
		for ; at < len(w.Trace.Events); at++ {
			switch e := w.Trace.Events[at]; e.Kind {
			case stream.Alloc:
				number[e.ID] = len(number) + 1
				fmt.Fprintf(&out, "  + %d  #%d\n", e.Size, number[e.ID])
			case stream.Free:
				fmt.Fprintf(&out, "  - #%d\n", number[e.ID])
			}
		}
	}
	var o Optimizer
	told("make", func() {
		var err error
		plain, decays := strings.CutSuffix(name, "+decay")
		if o, err = NewOptimizer(w, plain, params); err != nil {
			t.Fatal(err)
		}
		Decay(o, []bool{decays})
	})
	told("step", o.Step)
	told("step", o.Step)
	return out.String()
}

// types maps the type names used in the recordings.
var types = map[string]shadow.DType{"f32": shadow.Float32, "bf16": shadow.BFloat16, "f16": shadow.Float16}

// trained makes a parameter with a gradient from its name in the recordings, such as bf16:50x100. With "none" the
// parameter has no gradient.
func trained(t *testing.T, w *shadow.World, text string) *shadow.Tensor {
	t.Helper()
	if text == "none" {
		return w.Empty(shadow.Dims(7, 7), shadow.Float32).Hold()
	}
	kind, shape, _ := strings.Cut(text, ":")
	var size []int
	for _, s := range strings.Split(shape, "x") {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		size = append(size, n)
	}
	p := w.Parameter(text, shadow.Dims(size...), types[kind], false)
	p.SetGrad(w.Empty(shadow.Dims(size...), types[kind]).Hold())
	return p
}
