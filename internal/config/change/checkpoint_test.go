// SPDX-License-Identifier: Apache-2.0

package change

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestLastCheckpoint(t *testing.T) {
	for _, c := range []struct {
		name  string
		files []string // the last is the newest
		state string
		want  *Checkpoint
	}{
		{"none", []string{"conf/a.yaml", "step.py", "checkpoint-x/a", ".git/checkpoint-3/a"}, "", nil},
		{"Trainer", []string{"out/checkpoint-500/trainer_state.json"}, `{"global_step": 500, "max_steps": 3000, "train_batch_size": 8}`,
			&Checkpoint{Path: "out/checkpoint-500", Step: 500, MaxSteps: 3000, Batch: 8, Trainer: true}},
		{"damaged state", []string{"out/checkpoint-500/trainer_state.json"}, `{"global`, &Checkpoint{Path: "out/checkpoint-500", Step: 500}},
		{"Lightning", []string{"logs/v0/checkpoints/last.ckpt"}, "", &Checkpoint{Path: "logs/v0/checkpoints/last.ckpt"}},
		{"Lightning with steps", []string{"logs/epoch=1-step=400.ckpt"}, "", &Checkpoint{Path: "logs/epoch=1-step=400.ckpt", Step: 400}},
		{"steps", []string{"out/step_100/x", "out/step_5000/x"}, "", &Checkpoint{Path: "out/step_5000", Step: 5000}},
		{"state beside weights", []string{"out/model.pt", "out/trainer_state.json"}, `{"global_step": 7}`, &Checkpoint{Path: "out", Step: 7, Trainer: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			for i, name := range c.files {
				text := ""
				if strings.HasSuffix(name, "state.json") {
					text = c.state
				}
				write(t, root, map[string]string{name: text})
				at := time.Unix(int64(1000*i), 0)
				_ = os.Chtimes(filepath.Join(root, filepath.Dir(name)), at, at)
			}
			got := open(t, root, Options{Folder: quickly}).LastCheckpoint()
			if diff := cmp.Diff(c.want, got, cmpopts.IgnoreUnexported(Checkpoint{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestCheckpointWarnings(t *testing.T) {
	c := Checkpoint{Path: "out", Step: 5, Batch: 8, Trainer: true}
	for _, k := range []struct {
		before, after Batches
		want          []string
	}{
		{Batches{8, 4}, Batches{8, 4}, nil},
		{Batches{8, 4}, Batches{16, 2}, []string{"stays 32", "train_batch_size 8"}},
		{Batches{8, 4}, Batches{8, 2}, []string{"16 instead of 32"}},
		{Batches{0, 1}, Batches{8, 1}, nil},
	} {
		got := c.Warnings(k.before, k.after)
		if len(got) != len(k.want) {
			t.Fatalf("%v to %v: %q", k.before, k.after, got)
		}
		for i := range got {
			if !strings.Contains(got[i], k.want[i]) {
				t.Errorf("%v to %v: %q, want %q", k.before, k.after, got[i], k.want[i])
			}
		}
	}
}
