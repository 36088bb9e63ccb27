// SPDX-License-Identifier: Apache-2.0

package slurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// patience is how long a Slurm command may take, because a busy controller responds late.
const patience = 60 * time.Second

// Commands runs a Slurm command and returns its standard output, or writes it to a file if one is given, as for sbatch.
type Commands func(ctx context.Context, to *os.File, name string, args ...string) (string, error)

// local runs commands on this machine.
func local(ctx context.Context, to *os.File, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var out, failed bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = &out, &failed
	if to != nil {
		cmd.Stdout = to
	}
	cmd.Env = plainEnvironment(os.Environ())
	err := cmd.Run()
	if text := lastLine(failed.String()); err != nil && text != "" {
		err = errors.New(text)
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("%s did not respond within %v", name, patience)
	}
	return out.String(), err
}

// plainEnvironment returns the environment without variables that change the format of Slurm's output.
func plainEnvironment(env []string) []string {
	var out []string
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		switch name {
		case "SQUEUE_FORMAT", "SQUEUE_FORMAT2", "SACCT_FORMAT", "SQUEUE_STATES", "SQUEUE_USERS", "SQUEUE_PARTITION", "SLURM_TIME_FORMAT", "SBATCH_WAIT", "SBATCH_ARRAY_INX":
			continue
		}
		out = append(out, v)
	}
	return out
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// queue queries Slurm about all jobs at once, and at most once per polling interval.
type queue struct {
	run   Commands
	every time.Duration

	mu    sync.Mutex
	jobs  map[string]string // the clusters of the jobs to query, by job ID
	known map[string]Info
	asked time.Time
	err   error
}

func (q *queue) follow(id, cluster string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.jobs == nil {
		q.jobs, q.known = map[string]string{}, map[string]Info{}
	}
	q.jobs[id], q.asked = cluster, time.Time{}
}

func (q *queue) forget(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.jobs, id)
	delete(q.known, id)
}

// errUnknown means that Slurm has no record of a job, or no longer has one.
var errUnknown = errors.New("Slurm does not know this job")

// state returns what is known about a job. Any error other than errUnknown means that Slurm is not responding.
func (q *queue) state(ctx context.Context, id string) (Info, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if time.Since(q.asked) >= q.every {
		q.ask(ctx)
	}
	i, ok := q.known[id]
	switch {
	case q.err != nil:
		return i, q.err
	case !ok:
		return i, errUnknown
	}
	return i, nil
}

// ask queries squeue about all jobs, cluster by cluster.
func (q *queue) ask(ctx context.Context) {
	q.known, q.err = map[string]Info{}, nil
	clusters := map[string][]string{}
	for id, cluster := range q.jobs {
		clusters[cluster] = append(clusters[cluster], id)
	}
	for cluster, ids := range clusters {
		args := on(cluster, "--noheader", "--states=all", "--jobs="+strings.Join(ids, ","), "--format="+queueFormat)
		text, err := q.run(ctx, nil, "squeue", args...)
		if err != nil && !strings.Contains(err.Error(), "Invalid job id") {
			q.err = err
		}
		for id, i := range parseQueue(text) {
			q.known[id] = i
		}
	}
	q.asked = time.Now()
}

// detail returns everything that Slurm knows about a job, from the controller and, for who canceled it, from the
// accounting. If the controller has no record of the job, everything comes from the accounting.
func (q *queue) detail(ctx context.Context, id, cluster string) (Info, error) {
	text, err := q.run(ctx, nil, "scontrol", on(cluster, "--oneliner", "show", "job", id)...)
	i, ok := parseJob(text)
	known := err == nil && ok
	if known && i.State != "CANCELLED" {
		return i, nil
	}
	text, failed := q.run(ctx, nil, "sacct", on(cluster, "--noheader", "--parsable2", "--allocations", "--duplicates", "--jobs="+id, "--format="+accountFormat)...)
	account, ok := parseAccount(text, id)
	switch {
	case failed == nil && ok && known:
		i.By = account.By
	case failed == nil && ok:
		i = account
	case !known:
		return i, errUnknown
	}
	return i, nil
}

// on adds the cluster to the arguments of a command, unless it is the default one.
func on(cluster string, args ...string) []string {
	if cluster == "" {
		return args
	}
	return append([]string{"--clusters=" + cluster}, args...)
}
