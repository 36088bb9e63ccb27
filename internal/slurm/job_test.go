// SPDX-License-Identifier: Apache-2.0

package slurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"snug/internal/run"
)

// cluster is a fake Slurm. squeue returns its answers in turn, and then repeats the last one.
type cluster struct {
	squeue   []string
	scontrol string
	sacct    string
	sbatch   error

	mu    sync.Mutex
	calls []string
	after func(answer int) // called when squeue runs
	asked int
}

func (c *cluster) run(_ context.Context, to *os.File, name string, args ...string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, name+" "+strings.Join(args, " "))
	switch name {
	case "sbatch":
		if c.sbatch == nil {
			_, _ = fmt.Fprintln(to, "12")
		}
		return "", c.sbatch
	case "squeue":
		n := min(c.asked, len(c.squeue)-1)
		c.asked++
		if c.after != nil {
			c.after(n)
		}
		if text, failed := strings.CutPrefix(c.squeue[n], "error: "); failed {
			return "", errors.New(text)
		}
		return c.squeue[n] + "\n", nil
	case "scontrol":
		if c.scontrol == "" {
			return "", errors.New("slurm_load_jobs error: Invalid job id specified")
		}
		return c.scontrol, nil
	case "sacct":
		if c.sacct == "" {
			return "", errors.New("Slurm accounting storage is disabled")
		}
		return c.sacct, nil
	}
	return "", nil
}

type ending struct {
	Exit run.Exit
	Fate run.Fate
	Why  string
	Said []string
	Out  string
}

// follow submits a script and follows its job to its end.
func follow(t *testing.T, c *cluster, folder string) ending {
	t.Helper()
	var got ending
	var out bytes.Buffer
	r := &Runner{Poll: time.Millisecond, Run: c.run, Say: func(s string) { got.Said = append(got.Said, s) }}
	p, err := r.Start(context.Background(), command(t, folder, &out))
	if err != nil {
		t.Fatal(err)
	}
	got.Exit = p.Wait()
	got.Fate, got.Why = p.(*job).Fate()
	got.Out = out.String()
	return got
}

func command(t *testing.T, folder string, out *bytes.Buffer) run.Command {
	t.Helper()
	script := filepath.Join(folder, "train.sbatch")
	if err := os.WriteFile(script, []byte("#!/bin/bash\n#SBATCH --time=5\n\npython train.py\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return run.Command{Args: []string{"sbatch", "-p", "gpu", script, "8"}, Env: []string{"SNUG_RUN=" + folder}, Set: []string{"BATCH=it's 8"}, Stdout: out, Stderr: out}
}

func TestJobs(t *testing.T) {
	fine := "JobId=12 JobState=COMPLETED ExitCode=0:0 NodeList=n1"
	for _, c := range []struct {
		name    string
		cluster *cluster
		files   map[string]string
		want    ending
	}{{
		name:    "the job waits, runs and ends",
		cluster: &cluster{squeue: []string{"12|PENDING|Priority|", "12|PENDING|Resources|", "12|RUNNING|None|n1", "12|COMPLETED|None|n1"}, scontrol: fine},
		files:   map[string]string{"output": "hello\n"},
		want:    ending{Said: []string{"job 12 is waiting: Priority", "job 12 is waiting: Resources", "job 12 is running on n1"}, Out: "hello\n"},
	}, {
		name:    "the job is preempted and requeued",
		cluster: &cluster{squeue: []string{"12|RUNNING|None|n1", "12|PENDING|BeginTime|", "12|RUNNING|None|n2", "12|COMPLETED|None|n2"}, scontrol: fine},
		files:   map[string]string{"output": "*** JOB 12 ON n1 CANCELLED AT 2026-11-18T02:24:15 DUE TO PREEMPTION ***\n"},
		want: ending{
			Said: []string{"job 12 was preempted on n1; Slurm requeued it", "job 12 is waiting: BeginTime", "job 12 is running on n2"},
			Out:  "*** JOB 12 ON n1 CANCELLED AT 2026-11-18T02:24:15 DUE TO PREEMPTION ***\n",
		},
	}, {
		name:    "the job ran too briefly to be seen",
		cluster: &cluster{squeue: []string{"12|PENDING|BeginTime|", "12|PENDING|BeginTime|", "12|RUNNING|None|n2", "12|COMPLETED|None|n2"}, scontrol: fine},
		files:   map[string]string{"output": "*** JOB 12 ON n1 CANCELLED AT 2026-11-18T02:24:15 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***\n"},
		want: ending{
			Said: []string{"job 12 was killed by a node failure on n1; Slurm requeued it", "job 12 is waiting: BeginTime", "job 12 is running on n2"},
			Out:  "*** JOB 12 ON n1 CANCELLED AT 2026-11-18T02:24:15 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***\n",
		},
	}, {
		name:    "Slurm does not respond for a while",
		cluster: &cluster{squeue: []string{"12|RUNNING|None|n1", "error: Unable to contact slurm controller", "error: Unable to contact slurm controller", "12|RUNNING|None|n1", "12|COMPLETED|None|n1"}, scontrol: fine},
		want:    ending{Said: []string{"Slurm is not responding (Unable to contact slurm controller); job 12 may still be running, so snug keeps trying"}},
	}, {
		name:    "the job is canceled, and the accounting shows by whom",
		cluster: &cluster{squeue: []string{"12|CANCELLED|None|n1"}, scontrol: "JobId=12 JobState=CANCELLED ExitCode=0:15 NodeList=n1", sacct: "12|CANCELLED by 1000|0:15|n1\n"},
		want:    ending{Exit: run.Exit{Code: 143, Signal: syscall.SIGTERM}, Fate: run.Canceled, Why: "job 12 was canceled by user 1000"},
	}, {
		name:    "the job is only in the accounting",
		cluster: &cluster{squeue: []string{"error: slurm_load_jobs error: Invalid job id specified"}, sacct: "12|NODE_FAIL|0:0|n1\n"},
		want:    ending{Fate: run.NodeFailed, Why: "job 12 was killed by a node failure on n1"},
	}, {
		name:    "Slurm has no record of the job, but it left its exit code",
		cluster: &cluster{squeue: []string{"error: slurm_load_jobs error: Invalid job id specified"}},
		files:   map[string]string{"exit": "3\n"},
		want:    ending{Exit: run.Exit{Code: 3}},
	}, {
		name:    "Slurm has no record of the job, and it left nothing",
		cluster: &cluster{squeue: []string{"error: slurm_load_jobs error: Invalid job id specified"}},
		want:    ending{Exit: run.Exit{Code: 1}, Fate: run.NodeFailed, Why: "Slurm has no record of job 12, and it left no exit code"},
	}} {
		t.Run(c.name, func(t *testing.T) {
			folder := t.TempDir()
			for name, text := range c.files {
				if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(c.want, follow(t, c.cluster, folder)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The submitted script loads the probe before its first command, and the user's options come first.
func TestSubmit(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "100% mine")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	c := &cluster{squeue: []string{"12|COMPLETED|None|n1"}}
	follow(t, c, folder)
	output := strings.ReplaceAll(folder, "%", "%%") + "/output"
	want := "sbatch --parsable -p gpu --output=" + output + " --error=" + output + " --open-mode=append " + folder + "/files/submit/train.sbatch 8"
	if c.calls[0] != want {
		t.Errorf("%s, want\n%s", c.calls[0], want)
	}
	text := read2(t, folder, "files/submit/train.sbatch")
	if !strings.HasPrefix(text, "#!/bin/bash\n#SBATCH --time=5\n\n# Added by snug") || !strings.Contains(text, "\nexport SNUG_RUN='"+folder+"' ") ||
		!strings.HasSuffix(text, "\nexport BATCH='it'\\''s 8'\npython train.py\n") {
		t.Error(text)
	}
	// A second snug process finds the job and does not submit another.
	again := &cluster{squeue: []string{"12|COMPLETED|None|n1"}}
	follow(t, again, folder)
	for _, call := range again.calls {
		if strings.HasPrefix(call, "sbatch") {
			t.Errorf("the job was submitted again: %s", call)
		}
	}
}

func read2(t *testing.T, folder, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestSubmitFails(t *testing.T) {
	c := &cluster{sbatch: errors.New("sbatch: error: Batch job submission failed: Invalid partition name specified")}
	r := &Runner{Run: c.run}
	_, err := r.Start(context.Background(), command(t, t.TempDir(), &bytes.Buffer{}))
	if err == nil || err.Error() != "sbatch: Batch job submission failed: Invalid partition name specified" {
		t.Error(err)
	}
}

// A job that snug ends is canceled once, is not waited for, and has no fate.
func TestEnd(t *testing.T) {
	c := &cluster{squeue: []string{"12|RUNNING|None|n1"}}
	r := &Runner{Poll: time.Millisecond, Run: c.run}
	p, err := r.Start(context.Background(), command(t, t.TempDir(), &bytes.Buffer{}))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan run.Exit)
	go func() { done <- p.Wait() }()
	p.Signal(os.Interrupt)
	p.End(syscall.SIGTERM)
	p.End(os.Kill)
	exit := <-done
	p.Sweep(true)
	cancels := 0
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, call := range c.calls {
		if call == "scancel 12" {
			cancels++
		}
	}
	if fate, _ := p.(*job).Fate(); cancels != 1 || fate != run.NoFate || exit.Code == 0 {
		t.Errorf("%d cancellations, %s, %v", cancels, fate, exit)
	}
}

func TestScript(t *testing.T) {
	for line, want := range map[string]int{
		"train.sbatch 8":                          0,
		"sbatch train.sbatch 8":                   1,
		"/opt/bin/sbatch -p gpu --time=5 a.sh":    4,
		"sbatch --partition gpu --exclusive a.sh": 4,
		"sbatch -N2 -n 4 a.sh":                    4,
	} {
		if got, err := Script(strings.Fields(line)); got != want || err != nil {
			t.Errorf("%s: %d, %v, want %d", line, got, err, want)
		}
	}
	for line, want := range map[string]string{
		"":                       "there is no batch script",
		"sbatch -p gpu":          "sbatch has no script",
		"sbatch --array=1-3 a":   "a job array",
		"sbatch -a 1-3 a":        "a job array",
		"sbatch --wrap=hostname": "--wrap leaves no script",
		"sbatch --test-only a":   "--test-only runs nothing",
	} {
		if _, err := Script(strings.Fields(line)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", line, err, want)
		}
	}
	for text, want := range map[string]string{
		"#!/bin/bash\n#SBATCH -p gpu\nhostname\n":  "",
		"#!/usr/bin/env -S bash -e\nhostname\n":    "",
		"#!/bin/sh\nhostname\n#SBATCH --array=1\n": "",
		"hostname\n":           "a.sh does not begin with #!",
		"#!/usr/bin/python3\n": "a.sh begins with /usr/bin/python3; snug needs a shell script",
		"#!/bin/bash\n#SBATCH --array=1-3\nhostname\n":     "a.sh: a job array",
		"#!/bin/bash\n#SBATCH hetjob\nhostname\n":          "a.sh: a heterogeneous job",
		"#!/bin/bash\n\n# x\n#SBATCH -a 1-3\n\nhostname\n": "a.sh: a job array",
	} {
		if err := CheckScript("a.sh", text); (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
