// SPDX-License-Identifier: Apache-2.0

package accuracy

import (
	"math"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"snug/internal/setup"
)

func TestSummarize(t *testing.T) {
	got := summarize([]float64{0, 0.02, -0.01, 0, 0.5})
	want := Stats{Cases: 5, Exact: 2, Median: 0.01, P95: 0.5, Worst: 0.5, Under: 1, Low: 1/1.5 - 1, High: 1/0.99 - 1}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := summarize(nil); got != (Stats{}) {
		t.Errorf("without errors: %+v", got)
	}
}

// TestPeers compares each formula with a result computed by hand for one run of gpt2.
func TestPeers(t *testing.T) {
	s, err := setup.Decode(map[string]any{
		"model": map[string]any{"config": map[string]any{"model_type": "gpt2"}}, "batch": 4.0, "seq": 1024.0, "precision": "amp-bf16",
	}, setup.Source{})
	if err != nil {
		t.Fatal(err)
	}
	const n, sbh = 124439808.0, 1024 * 4 * 768.0
	want := map[string]float64{
		"accelerate estimate-memory":  16 * n,
		"DeepSpeed ZeRO estimator":    20 * n,
		"Megatron activations":        16*n + 12*sbh*(34+80),
		"EleutherAI transformer math": 18*n + 12*sbh*(34+80),
	}
	for _, p := range peers {
		if got := p.bytes(s, n, n); math.Abs(got-want[p.name]) > 1 {
			t.Errorf("%s: %.0f, want %.0f", p.name, got, want[p.name])
		}
	}
}

func TestTriedToAllocate(t *testing.T) {
	for message, want := range map[string]string{
		"CUDA out of memory. Tried to allocate 3.07 GiB. GPU 0 has a total": "3.07 GiB", "": "?", "killed": "?",
	} {
		if got := triedToAllocate(message); got != want {
			t.Errorf("%q: %q, want %q", message, got, want)
		}
	}
}

func TestLoadNamesTheLine(t *testing.T) {
	files := fstest.MapFS{"x.jsonl": {Data: []byte("{\"setup\":{\"model\":{\"custom\":\"a\"}}}\n{\n")}}
	if _, err := Load(files, "x.jsonl"); err == nil || !strings.HasPrefix(err.Error(), "x.jsonl:2: ") {
		t.Errorf("got %v", err)
	}
}

// TestMeasuredTwoLayers compares the smallest cases, which have to be exact to the byte.
func TestMeasuredTwoLayers(t *testing.T) {
	rows, err := Load(os.DirFS("../../testdata/measured"), "dev_2l.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range Compare(rows) {
		if c.Err != nil || c.Reserved() != 0 {
			t.Errorf("%s: off by %v, %v", c.ID(), c.Reserved(), c.Err)
		}
	}
}
