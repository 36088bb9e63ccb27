// SPDX-License-Identifier: Apache-2.0

package slurm

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/run"
)

func TestSubmitted(t *testing.T) {
	for text, want := range map[string][2]string{
		"12\n":                       {"12", ""},
		"12;gpu1\n":                  {"12", "gpu1"},
		"Submitted batch job 4711\n": {"4711", ""},
		"Submitted batch job 4711 on cluster gpu1\n":  {"4711", "gpu1"},
		"Your project has 12 hours left\n\n98765\n\n": {"98765", ""},
		"":                                   {},
		"sbatch: job not submitted, try 2\n": {},
	} {
		id, cluster, ok := parseSubmitted(text)
		if got := [2]string{id, cluster}; got != want || ok != (want[0] != "") {
			t.Errorf("%q: %v %v, want %v", text, got, ok, want)
		}
	}
}

func TestQueue(t *testing.T) {
	got := parseQueue(read(t, "squeue-22.05.txt"))
	want := map[string]Info{
		"1":  {State: "PENDING", Reason: "BeginTime"},
		"3":  {State: "PREEMPTED", Nodes: "n1"},
		"6":  {State: "NODE_FAIL", Reason: "NodeDown", Nodes: "n1"},
		"7":  {State: "FAILED", Reason: "NonZeroExitCode", Nodes: "n1"},
		"9":  {State: "RUNNING", Nodes: "n1"},
		"10": {State: "PENDING", Reason: "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := parseQueue("CLUSTER: gpu1\n12|RUNNING|None|gpu[1-4]\n"); got["12"].Nodes != "gpu[1-4]" || len(got) != 1 {
		t.Errorf("%+v", got)
	}
}

// The files contain scontrol's output; their names give its version.
func TestJob(t *testing.T) {
	killed := run.Exit{Code: 128 + 15, Signal: syscall.SIGTERM}
	for name, want := range map[string]Info{
		"scontrol-22.05-running.txt":   {State: "RUNNING", Nodes: "n1", Limit: "365-00:00:00"},
		"scontrol-22.05-requeued.txt":  {State: "PENDING", Reason: "BeginTime", Restarts: 1, Limit: "UNLIMITED"},
		"scontrol-22.05-preempted.txt": {State: "PREEMPTED", Nodes: "n1", Limit: "365-00:00:00", Exit: killed},
		"scontrol-22.05-nodefail.txt":  {State: "NODE_FAIL", Reason: "NodeDown", Nodes: "n1", Limit: "UNLIMITED", Exit: killed},
		"scontrol-22.05-failed.txt":    {State: "FAILED", Reason: "NonZeroExitCode", Nodes: "n1", Limit: "00:01:00", Exit: run.Exit{Code: 3}},
		"scontrol-22.05-signal.txt":    {State: "FAILED", Reason: "JobLaunchFailure", Nodes: "n1", Limit: "UNLIMITED", Exit: run.Exit{Code: 139, Signal: syscall.SIGSEGV}},
		"scontrol-22.05-drained.txt":   {State: "PENDING", Reason: "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions", Limit: "UNLIMITED"},
	} {
		got, ok := parseJob(read(t, name))
		if diff := cmp.Diff(want, got); diff != "" || !ok {
			t.Errorf("%s: %v %s", name, ok, diff)
		}
	}
	if _, ok := parseJob("slurm_load_jobs error: Invalid job id specified\n"); ok {
		t.Error("an error message was parsed as a job")
	}
	got, _ := parseJob("JobId=1 JobName=x JobState=RUNNING Reason=None Command=/a JobState=FAILED")
	if got.State != "RUNNING" {
		t.Errorf("the user's command was parsed too: %+v", got)
	}
}

// sacct prints one line for each time a job ran; the last one counts.
func TestAccount(t *testing.T) {
	for text, want := range map[string]Info{
		"12|CANCELLED by 1000|0:15|n1\n":                         {State: "CANCELLED", By: "1000", Nodes: "n1", Exit: run.Exit{Code: 143, Signal: syscall.SIGTERM}},
		"12|REQUEUED|0:0|n1\n12|COMPLETED|0:0|n2\n":              {State: "COMPLETED", Nodes: "n2", Restarts: 1},
		"12|NODE_FAIL|0:0|n1\n12|PREEMPTED|0:0|n1\n":             {State: "PREEMPTED", Nodes: "n1", Restarts: 1},
		"12|OUT_OF_MEMORY|0:125|n1\n12.batch|CANCELLED|0:9|n1\n": {State: "OUT_OF_MEMORY", Nodes: "n1", Exit: run.Exit{Code: 253, Signal: 125}},
		"12|CANCELLED+|0:0|None assigned\n":                      {State: "CANCELLED"},
		"12|TIMEOUT|0:0|gpu[1-2]\n":                              {State: "TIMEOUT", Nodes: "gpu[1-2]"},
		"13|COMPLETED|0:0|n1\n":                                  {},
		"":                                                       {},
	} {
		got, ok := parseAccount(text, "12")
		if diff := cmp.Diff(want, got); diff != "" || ok != (want.State != "") {
			t.Errorf("%q: %v %s", text, ok, diff)
		}
	}
}

// Every state in Slurm's manual pages, from 17.11 to 24.05, belongs to a job that is waiting, running or over.
func TestPhases(t *testing.T) {
	for want, states := range map[phase]string{
		waiting: "PENDING CONFIGURING REQUEUED REQUEUE_FED REQUEUE_HOLD RESV_DEL_HOLD SPECIAL_EXIT STOPPED SUSPENDED",
		running: "RUNNING COMPLETING RESIZING SIGNALING STAGE_OUT",
		over:    "BOOT_FAIL CANCELLED COMPLETED DEADLINE FAILED NODE_FAIL OUT_OF_MEMORY PREEMPTED REVOKED TIMEOUT",
	} {
		for s := range strings.FieldsSeq(states) {
			if got := (Info{State: s}).phase(); got != want {
				t.Errorf("%s is %d, want %d", s, got, want)
			}
		}
	}
}

func TestFate(t *testing.T) {
	const stepd = "slurmstepd-n1: error: *** JOB 12 ON n1 CANCELLED AT 2026-11-18T02:24:15 DUE TO "
	for _, c := range []struct {
		info   Info
		output string
		fate   run.Fate
		why    string
	}{
		{info: Info{State: "COMPLETED"}},
		{info: Info{State: "FAILED", Exit: run.Exit{Code: 1}}, output: "Traceback: CANCELLED AT once DUE TO NODE FAILURE"},
		{Info{State: "PREEMPTED", Nodes: "n1"}, "", run.Preempted, "job 12 was preempted on n1"},
		{Info{State: "CANCELLED"}, stepd + "PREEMPTION ***\n", run.Preempted, "job 12 was preempted on n1"},
		{Info{State: "NODE_FAIL", Nodes: "n1"}, "", run.NodeFailed, "job 12 was killed by a node failure on n1"},
		{Info{State: gone}, stepd + "NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***\n", run.NodeFailed, "job 12 was killed by a node failure on n1"},
		{Info{State: "TIMEOUT", Limit: "00:10:00"}, "", run.TimeLimit, "job 12 reached its time limit of 00:10:00; raise --time in the script"},
		{Info{State: "FAILED"}, stepd + "TIME LIMIT ***\n", run.TimeLimit, "job 12 reached its time limit; raise --time in the script"},
		{Info{State: "OUT_OF_MEMORY", Nodes: "n1"}, "", run.HostMemory, "job 12 used more CPU memory than it requested and was killed on n1; raise --mem in the script"},
		{Info{State: "FAILED"}, "slurmstepd: error: Detected 1 oom_kill event in StepId=12.batch.\n", run.HostMemory, "job 12 used more CPU memory than it requested and was killed; raise --mem in the script"},
		{Info{State: "CANCELLED", By: "1000"}, stepd[:len(stepd)-7] + "***\n", run.Canceled, "job 12 was canceled by user 1000"},
		{Info{State: "CANCELLED"}, "", run.Canceled, "job 12 was canceled externally"},
		{Info{State: gone}, "", run.NodeFailed, "Slurm has no record of job 12, and it left no exit code"},
	} {
		fate, why := fateOf("12", c.info, c.output)
		if fate != c.fate || why != c.why {
			t.Errorf("%+v, %q: %s, %q; want %s, %q", c.info, c.output, fate, why, c.fate, c.why)
		}
	}
}

func FuzzOutput(f *testing.F) {
	f.Add("12|RUNNING|None|n1\n")
	f.Add("JobId=12 JobState=RUNNING ExitCode=0:9 Restarts=x")
	f.Add("12;c\n")
	f.Fuzz(func(t *testing.T, text string) {
		parseSubmitted(text)
		parseQueue(text)
		parseAccount(text, "12")
		if i, ok := parseJob(text); ok && i.State == "" {
			t.Error("a job without a state")
		}
		fateOf("12", Info{State: "CANCELLED"}, text)
		if got := MapWords(text, func(w string) string { return w }); got != text {
			t.Errorf("%q became %q", text, got)
		}
	})
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
