// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"snug/internal/run"
	"snug/internal/slurm"
	"snug/internal/store"
	"snug/internal/tune"
)

// cluster runs a tune's trials as Slurm jobs.
type cluster struct {
	runner slurm.Runner
	shared string      // the folder shared with the nodes
	words  []string    // the words in the batch script
	said   chan string // messages from the runner

	mu   sync.Mutex
	rows map[string]store.Job // this tune's jobs, by run folder
}

// newCluster returns the cluster for a command. It reads the batch script that the command submits.
func newCluster(t *tuner) (*cluster, error) {
	out := &cluster{said: make(chan string, 64), rows: map[string]store.Job{}}
	out.runner.Poll, out.runner.Say = t.o.poll, func(text string) { out.said <- text }
	out.runner.Submitted = func(folder, job string) { out.submitted(t, folder, job) }
	shared := t.o.shared
	if shared == "" {
		shared = filepath.Join(".snug", "jobs")
	}
	var err error
	if out.shared, err = filepath.Abs(shared); err != nil {
		return nil, fmt.Errorf("--shared %s: %w", shared, err)
	}
	args := run.ReadLaunch(t.words).Args
	at, err := slurm.Script(args)
	if err != nil {
		return nil, err
	}
	if text, err := (projectFiles{"."}).ReadFile(args[at]); err == nil { // otherwise the session reports the error
		out.words = slurm.Words(string(text))
	}
	return out, nil
}

// allWords returns the words of the command and of the batch script that it submits.
func (t *tuner) allWords() []string {
	if t.cluster == nil {
		return t.words
	}
	return slices.Concat(t.words, t.cluster.words)
}

// putJob stores a job before it is submitted, so that it can be found again if snug is killed.
func (t *tuner) putJob(c tune.Candidate, folder string) error {
	row := store.Job{Folder: folder, Tune: t.key, Settings: c.Key()}
	t.cluster.mu.Lock()
	t.cluster.rows[folder] = row
	t.cluster.mu.Unlock()
	return t.withStore(func(s *store.Store) error { return s.PutJob(row) })
}

// submitted stores a job's ID.
func (k *cluster) submitted(t *tuner, folder, job string) {
	k.mu.Lock()
	row, own := k.rows[folder]
	k.mu.Unlock()
	if !own || row.Job == job { // a recording's job, or a job that an earlier snug stored
		return
	}
	row.Job = job
	if err := t.withStore(func(s *store.Store) error { return s.PutJob(row) }); err != nil {
		k.said <- fmt.Sprintf("job %s cannot be stored: %s", job, oneLine(err.Error()))
	}
}

// dropJob removes a finished job from the store, and removes its folder.
func (t *tuner) dropJob(folder string) {
	if run.IsFolder(folder) {
		_ = os.RemoveAll(folder)
	}
	_ = t.withStore(func(s *store.Store) error { return s.RemoveJob(folder) })
}

func (t *tuner) withStore(do func(*store.Store) error) error {
	s, err := store.Open(store.Path(t.env.Getenv))
	if err != nil {
		return err
	}
	defer s.Close()
	return do(s)
}

// leftJobs returns the jobs that an earlier snug left behind.
func (t *tuner) leftJobs() ([]store.Job, error) {
	return fromStore(t.env, func(s *store.Store) ([]store.Job, error) { return s.Jobs(t.key) })
}

// cancelLeft cancels an earlier snug's jobs that are no longer needed.
func (t *tuner) cancelLeft(ctx context.Context) {
	if t.cluster == nil {
		return
	}
	left, err := t.leftJobs()
	if err != nil {
		return
	}
	for _, j := range left {
		if err := t.cluster.runner.Cancel(ctx, j.Folder); err == nil && j.Job != "" {
			t.env.say(fmt.Sprintf("job %s from an earlier snug tune is no longer needed; canceling it", j.Job))
		}
		t.dropJob(j.Folder)
	}
}
