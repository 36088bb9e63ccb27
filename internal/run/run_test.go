// SPDX-License-Identifier: Apache-2.0

package run

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadLaunch(t *testing.T) {
	for _, x := range []struct {
		line, launcher, warning string
		env                     []string
	}{
		{"python train.py -I", "python", "", nil},
		{"CUDA_VISIBLE_DEVICES=1 A=b /usr/bin/python3.11 -u train.py", "python", "", []string{"CUDA_VISIBLE_DEVICES=1", "A=b"}},
		{"python -uI train.py", "python", "-uI", nil},
		{"python -W ignore -E train.py", "python", "-E", nil},
		{"python -m torch.distributed.run train.py", "python", "", nil},
		{"torchrun --nproc_per_node=2 train.py", "torchrun", "", nil},
		{"accelerate launch train.py", "accelerate", "", nil},
		{"deepspeed --num_gpus 1 train.py", "deepspeed", "", nil},
		{"uv run python -I train.py", "python", "-I", nil},
		{"env A=1 nohup torchrun train.py", "torchrun", "", nil},
		{"uv run --with einops -p 3.11 python -I train.py", "python", "-I", nil},
		{"conda run -n torch --no-capture-output bash train.sh", "bash", "", nil},
		{"nice -n 10 taskset -c 0-3 timeout -k 5 60 bash train.sh", "bash", "", nil},
		{"nice -n", "nice", "", nil},
		{"taskset", "taskset", "", nil},
		{"bash train.sh", "bash", "", nil},
		{"docker run img python train.py", "docker", "inside", nil},
		{"./train.sh", "train.sh", "", nil},
		{"", "", "", nil},
	} {
		l := ReadLaunch(strings.Fields(x.line))
		if l.Launcher != x.launcher || !strings.Contains(l.Warning, x.warning) || (l.Warning == "") != (x.warning == "") {
			t.Errorf("%q: launcher %q, warning %q", x.line, l.Launcher, l.Warning)
		}
		if diff := cmp.Diff(x.env, l.Env); diff != "" {
			t.Errorf("%q: env (-want +got)\n%s", x.line, diff)
		}
	}
}

func TestFolderEnv(t *testing.T) {
	f := &Folder{Path: "/f"}
	got := f.Env([]string{"A=1", "PYTHONPATH=/theirs", "SNUG_RUN=old", "PYTHONUNBUFFERED=0", "GLIBC_TUNABLES=glibc.malloc.check=1"})
	want := []string{"A=1", "PYTHONUNBUFFERED=0", "GLIBC_TUNABLES=glibc.malloc.check=1:glibc.malloc.hugetlb=1", "PYTHONPATH=/f" + string(os.PathListSeparator) + "/theirs", "SNUG_RUN=/f"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if m := MarkOf(got); m != "/f" {
		t.Errorf("mark %q", m)
	}
	for theirs, want := range map[string]string{"": "glibc.malloc.hugetlb=1", "glibc.malloc.hugetlb=0": "glibc.malloc.hugetlb=0"} {
		if got := withLargePages(theirs); got != want {
			t.Errorf("%q becomes %q", theirs, got)
		}
	}
}

const told = `{"event": "start", "time": 5.5, "pid": 12, "argv": ["python", "t.py"], "rank": 1, "world_size": 2}
{"event": "torch", "versions": {"torch": "2.11.0"}}
{"event": "gpu", "index": 0, "name": "NVIDIA H200", "total": 150, "capability": 90, "recording": true}
{"event": "step", "n": 1, "optimizer": "AdamW", "peak_reserved": 70, "peak_allocated": 50, "marks": [["end", 1]]}
not json at all
{"event": "step", "n": 2, "seconds": 0.25, "peak_reserved": 90, "peak_allocated": 60}
{"event": "unheard of", "n": 3}
{"event": "snapshot", "file": "12.pickle", "entries": [100], "peak_reserved": 90}
{"event": "step", "n": 3, "seco`

func TestReadReport(t *testing.T) {
	r := ReadReport([]byte(told))
	if r.PID != 12 || r.Rank != 1 || r.World != 2 || len(r.Steps) != 2 || r.Snapshot.File != "12.pickle" || r.GPU.Name != "NVIDIA H200" || r.End != "" {
		t.Errorf("%+v", r)
	}
	if r.PeakReserved() != 90 || r.PeakAllocated() != 60 || r.StepSeconds() != 0.25 {
		t.Errorf("peaks %d %d, %v s", r.PeakReserved(), r.PeakAllocated(), r.StepSeconds())
	}
}

func FuzzReadReport(f *testing.F) {
	f.Add([]byte(told))
	f.Add([]byte(`{"event":"rank"}` + "\n" + `{"event":"gpu","total":-1}`))
	f.Fuzz(func(_ *testing.T, text []byte) {
		r := ReadReport(text)
		_, _, _, _ = r.PeakReserved(), r.PeakAllocated(), r.StepSeconds(), r.Trained()
	})
}

func TestTailKeepsTheEnd(t *testing.T) {
	var x tail
	for range 100 {
		_, _ = x.Write([]byte(strings.Repeat("a", 1000)))
	}
	_, _ = x.Write([]byte("end"))
	if got := x.bytes(); len(got) != tailSize || !strings.HasSuffix(string(got), "aend") {
		t.Errorf("%d bytes, ending in %q", len(got), got[len(got)-4:])
	}
}

func TestCrashed(t *testing.T) {
	for code, want := range map[int]bool{0: false, 1: false, 11: false, 130: false, 143: false, 134: true, 137: true, 139: true} {
		if got := (Exit{Code: code}).Crashed(); got != want {
			t.Errorf("exit code %d: crashed %v, want %v", code, got, want)
		}
	}
}
