// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// With any launcher, if one rank runs out of memory, the run ends for all ranks, and the peaks of each are known.
func TestTorchRankRunsOut(t *testing.T) {
	py := python(t)
	bin := func(name string) string { return filepath.Join(filepath.Dir(py), name) }
	type rank struct {
		Rank, Steps int
		Peak        uint64
		OOM         bool
	}
	dir := t.TempDir() // testdata contains its own deepspeed module
	script, err := os.ReadFile("testdata/rank_oom.py")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "rank_oom.py"), script, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	both := []rank{{0, 2, 40, false}, {1, 2, 50, true}}
	for name, c := range map[string]struct {
		args []string
		want []rank
	}{
		"plain":      {[]string{py, "rank_oom.py"}, []rank{{-1, 2, 50, true}}},
		"torchrun":   {[]string{bin("torchrun"), "--standalone", "--nproc_per_node", "2", "rank_oom.py"}, both},
		"accelerate": {[]string{bin("accelerate"), "launch", "--multi_gpu", "--num_processes", "2", "--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", "29611", "rank_oom.py"}, both},
		"deepspeed":  {[]string{bin("deepspeed"), "--num_gpus", "2", "--master_port", "29612", "rank_oom.py"}, both},
		"shell":      {[]string{"sh", "-c", "RANK=0 WORLD_SIZE=2 \"$0\" rank_oom.py & RANK=1 WORLD_SIZE=2 \"$0\" rank_oom.py & wait", py}, both},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := os.Stat(c.args[0]); filepath.IsAbs(c.args[0]) && err != nil {
				t.Skip("not installed: " + c.args[0])
			}
			f, err := NewFolder(t.TempDir(), Settings{Steps: 100, Measure: true})
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			s := Session{
				Args: c.args, Dir: dir, Env: append(os.Environ(), "DS_ACCELERATOR=cpu"), Stdout: &out, Stderr: &out, Timeout: 2 * time.Minute, OOMTimeout: time.Second,
			}
			o, err := s.Run(context.Background(), f)
			if err != nil {
				t.Fatal(err)
			}
			var got []rank
			for _, r := range o.Reports {
				for _, x := range r.Failures {
					t.Errorf("probe: %s: %s", x.Where, x.What)
				}
				if r.Trained() {
					got = append(got, rank{r.Rank, len(r.Steps), r.PeakReserved(), r.OOM != nil})
				}
			}
			if len(got) == 2 && got[0].Rank > got[1].Rank {
				got[0], got[1] = got[1], got[0]
			}
			if diff := cmp.Diff(c.want, got); diff != "" || o.TimedOut {
				t.Errorf("timed out: %v; %s; it printed\n%s", o.TimedOut, diff, out.String())
			}
			if left := marked(f.Path); len(left) > 0 {
				t.Errorf("processes left behind: %v", left)
			}
		})
	}
}
