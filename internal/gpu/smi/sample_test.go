// SPDX-License-Identifier: Apache-2.0

package smi

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/gpu"
	"snug/internal/units"
)

const sampleCSV = `0, GPU-aaaa, 143771, 614, 1000, 37, 351.23, 700.00, 54, 0x0000000000000044, NVIDIA H200
1, GPU-bbbb, 24576, 300, 200, [N/A], [N/A], [N/A], 40, [N/A], NVIDIA GeForce RTX 3090
2, GPU-cccc, [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost], NVIDIA H200
`

func TestSample(t *testing.T) {
	run := func(_ context.Context, _ string, args ...string) ([]byte, error) {
		if strings.HasPrefix(args[0], "--query-compute-apps") {
			return []byte("GPU-aaaa, 4321, 900, python3\n"), nil
		}
		return []byte(sampleCSV), nil
	}
	s, err := Source{Run: run}.Open(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got, err := s.Sample(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	const m = units.MiB
	num := func(x float64) *float64 { return &x }
	want := []gpu.Sample{
		{
			Maker: gpu.NVIDIA, UUID: "GPU-aaaa", Name: "NVIDIA H200", Total: 143771 * m, Reserved: 614 * m, Used: 1000 * m, Util: num(37), Power: num(351.23),
			PowerLimit: num(700), Temperature: num(54), Throttle: []string{"power cap", "heat (hardware)"}, Processes: []gpu.Process{{PID: 4321, Name: "python3", Used: 900 * m}},
		},
		{Maker: gpu.NVIDIA, Index: 1, UUID: "GPU-bbbb", Name: "NVIDIA GeForce RTX 3090", Total: 24576 * m, Reserved: 300 * m, Used: 200 * m, Temperature: num(40)},
	}
	if diff := cmp.Diff(want, got[:2]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got[2].Err == nil {
		t.Error("a lost GPU has no error")
	}
}

func TestSampleBad(t *testing.T) {
	for _, out := range []string{"", "x\n", "a, GPU-1, 1, 1, 1, 1, 1, 1, 1, 0x0, name\n"} {
		if s, err := parseSamples([]byte(out)); err == nil {
			t.Errorf("%q: %v", out, s)
		}
	}
}

// TestSampleSlices samples a GPU with MIG instances, which only the long output contains.
func TestSampleSlices(t *testing.T) {
	s, err := recorded(t, "mig.csv", "", "mig.xml", "mig.list").Open(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got, err := s.Sample(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, x := range got {
		if x.Slice == nil {
			t.Fatalf("a whole GPU: %+v", x)
		}
		names = append(names, x.Label()+" "+x.Name)
	}
	want := []string{"GPU 0 MIG 0 NVIDIA A100-SXM4-40GB MIG 3g.20gb", "GPU 0 MIG 1 NVIDIA A100-SXM4-40GB MIG 1g.5gb"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got[0].Total == 0 || got[0].Used == 0 || len(got[0].Processes) == 0 {
		t.Errorf("the first: %+v", got[0])
	}
}
