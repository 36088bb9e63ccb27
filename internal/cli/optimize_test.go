// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"strings"
	"testing"

	"snug/internal/gpu"
	"snug/internal/units"
)

// oneCard is a machine with one GPU.
type oneCard struct{}

func (oneCard) Name() string     { return "test" }
func (oneCard) Maker() gpu.Maker { return gpu.NVIDIA }

func (oneCard) Report(context.Context) (*gpu.Report, error) {
	return &gpu.Report{Devices: []gpu.Device{{Name: "NVIDIA L4", Total: 22 * units.GiB, Free: 22 * units.GiB}}}, nil
}

// The number of data loader workers depends on the processors of the card's machine, so this machine's processors
// do not matter for a card in another machine.
func TestWorkersOfTheCardsMachine(t *testing.T) {
	for _, c := range []struct {
		args string
		want bool
	}{
		{"--auto", true},
		{"--gpu L4", false},
		{"--gpu-memory 22", false},
	} {
		var out strings.Builder
		env := Env{Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }, GPUs: []gpu.Source{oneCard{}}, CPUs: 8}
		args := strings.Fields("optimize --model gpt2 --seq 64 --batch 4 --accumulation 2 " + c.args)
		if code := Run(context.Background(), env, args); code != exitDone {
			t.Fatalf("%s: exit code %d: %s", c.args, code, out.String())
		}
		if got := strings.Contains(out.String(), "num_workers=7, pin_memory=True, persistent_workers=True   (8 CPUs here)"); got != c.want {
			t.Errorf("%s: shows the number of workers: %v, want %v\n%s", c.args, got, c.want, out.String())
		}
	}
}
