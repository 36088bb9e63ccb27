// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"os"
	"path/filepath"
	"testing"

	"snug/internal/lint"
	"snug/internal/snapshot"
)

// way is one way to run out of memory: the verdict from the log alone and from the snapshot, and the line.
type way struct {
	name          string
	log, snapshot Code
	where         string // from the snapshot, or from the log if there is none
	grows         uint64 // bytes per step, within a tenth
}

var ways = []way{
	{"cap", TooBig, TooBig, "net.py:20", 0},
	{"cuda_graph", PrivatePool, PrivatePool, "net.py:34", 962_013_656},
	{"evaluation_collects", Evaluation, Evaluation, "evaluation_collects.py:14", 4 * 512 * 32000 * 4},
	{"evaluation_gradients", Evaluation, Evaluation, "evaluation_gradients.py:13", 967_292_052},
	{"evaluation_larger", Evaluation, Evaluation, "net.py:34", 0},
	{"first_step", FirstOptimizerStep, FirstOptimizerStep, "first_step.py:11", 0},
	{"graph_kept", Leak, Leak, "graph_kept.py:13", 171_000_000},
	{"growing_cache", Leak, Leak, "growing_cache.py:10", 16 * 256 * 512 * 4},
	{"hook_keeps", Leak, Leak, "hook_keeps.py:10", 4 * 8 * 128 * 512 * 4},
	{"lightning_keeps", TooBig, Leak, "lightning_keeps.py:16", 8 * 128 * 8000 * 4}, // the run's log does not mention steps
	{"loading", Loading, Loading, "loading.py:6", 0},
	{"logits", LogitsTooBig, LogitsTooBig, "logits.py:11", 0},
	{"long_batch", LongBatch, LongBatch, "net.py:20", 0},
	{"other_process", OtherProcess, TooBig, "net.py:19", 0}, // a snapshot shows only the process that wrote it
	{"outputs_kept", Leak, Leak, "outputs_kept.py:15", 4 * 256 * 8000 * 4},
	{"ragged", Fragmentation, Fragmentation, "", 0},
	{"resume", Resume, Resume, "resume.py:18", 0},
	{"retry_in_except", TooBig, TooBig, "net.py:20", 0},
	{"too_big", TooBig, TooBig, "net.py:20", 0},
	{"too_big_backward", TooBig, TooBig, "", 0},
	{"trainer_collects", Evaluation, Evaluation, "trainer_collects.py:8", 0},
	{"weights_copied", Leak, Leak, "weights_copied.py:15", 27_000_000},
	{"workers", HostMemory, "", "workers.py:14", 0},
	{"workers_killed", HostMemory, "", "", 0},
}

// TestWays diagnoses runs that really ran out of memory (testdata/oom).
func TestWays(t *testing.T) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			log := readLog(t, w.name)
			got := Judge(Evidence{Log: log})
			if got.Code != w.log {
				t.Errorf("from the log: %s (%s), want %s", got.Code, got.Why, w.log)
			}
			if w.snapshot != "" {
				recorded := readRecorded(t, w.name)
				got = Judge(Evidence{Recorded: recorded, Keeper: keeperIn})
				if got.Code != w.snapshot {
					t.Errorf("from the snapshot: %s (%s), want %s", got.Code, got.Why, w.snapshot)
				}
				if both := Judge(Evidence{Log: log, Recorded: recorded}); both.Code != w.log && both.Code != w.snapshot {
					t.Errorf("from both: %s (%s)", both.Code, both.Why)
				}
			}
			if got.Where != w.where {
				t.Errorf("at %q, want %q", got.Where, w.where)
			}
			w.checkGrowth(t, got.Growth)
		})
	}
}

func (w way) checkGrowth(t *testing.T, got *Growth) {
	t.Helper()
	switch {
	case w.grows == 0 && got != nil:
		t.Errorf("grows by %d bytes per step at %s; want no growth", got.BytesPerStep, got.Where)
	case w.grows > 0 && (got == nil || got.BytesPerStep < w.grows*9/10 || got.BytesPerStep > w.grows*12/10):
		t.Errorf("growth %+v, want %d bytes per step", got, w.grows)
	}
}

// keeperIn looks for the line that keeps memory in the programs in testdata/oom.
func keeperIn(file string, line int) (int, bool) {
	src, err := os.ReadFile(filepath.Join(oomData, "ways", filepath.Base(file)))
	if err != nil {
		return 0, false
	}
	return lint.Keeper(src, line)
}

const oomData = "../../testdata/oom"

func readLog(t *testing.T, name string) *Log {
	t.Helper()
	f, err := os.Open(filepath.Join(oomData, name+".log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	log, err := ReadLog(f)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

func readRecorded(t *testing.T, name string) *Recorded {
	t.Helper()
	f, err := os.Open(filepath.Join(oomData, name+".pickle.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rec, err := snapshot.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return ReadRecording(rec, rec.Busiest())
}
