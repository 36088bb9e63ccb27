// SPDX-License-Identifier: Apache-2.0

package slurm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"snug/internal/files"
	"snug/internal/run"
)

// DefaultPoll is the default interval between queries to Slurm.
const DefaultPoll = 5 * time.Second

// Runner submits commands as jobs. It is a run.Runner.
type Runner struct {
	Poll      time.Duration            // interval between queries to Slurm; 0 means DefaultPoll
	Run       Commands                 // nil means Slurm's commands on this machine
	Say       func(text string)        // called with messages about a job; may be nil
	Submitted func(folder, job string) // called when a job is in the queue; may be nil

	once  sync.Once
	queue queue
}

// names of files in the folder of a run
const (
	submittedName = "submitted"
	outputName    = "output"
	exitName      = "exit"
	filesName     = "files"
)

func (r *Runner) prepare() {
	r.once.Do(func() {
		r.queue.run, r.queue.every = r.Run, r.Poll
		if r.queue.run == nil {
			r.queue.run = local
		}
		if r.queue.every == 0 {
			r.queue.every = DefaultPoll
		}
	})
}

// Start submits the batch script that a command names. If an earlier snug process already submitted a job for the
// run's folder, Start returns that job.
func (r *Runner) Start(ctx context.Context, c run.Command) (run.Process, error) {
	r.prepare()
	folder := run.MarkOf(c.Env)
	if folder == "" {
		return nil, errors.New("the run has no folder")
	}
	id, cluster, ok := JobIn(folder)
	if !ok {
		if err := r.submit(ctx, c, folder); err != nil {
			return nil, err
		}
		if id, cluster, ok = JobIn(folder); !ok {
			return nil, fmt.Errorf("sbatch did not print a job ID: %s", lastLine(readText(filepath.Join(folder, submittedName))))
		}
	}
	if r.Submitted != nil {
		r.Submitted(folder, id)
	}
	r.queue.follow(id, cluster)
	return &job{id: id, cluster: cluster, folder: folder, runner: r, output: c.Stdout, stop: make(chan struct{})}, nil
}

// JobIn returns the job that was submitted for a run's folder.
func JobIn(folder string) (id, cluster string, ok bool) {
	return parseSubmitted(readText(filepath.Join(folder, submittedName)))
}

// maxText limits how much of a job's files is read.
const maxText = 4 << 20

func readText(name string) string {
	text, err := files.Read(name, maxText)
	if err != nil {
		return ""
	}
	return string(text)
}

// submit submits the job. The output of sbatch goes straight to a file, so that the job can be found even if this
// process is killed while sbatch runs.
func (r *Runner) submit(ctx context.Context, c run.Command, folder string) error {
	at, err := Script(c.Args)
	if err != nil {
		return err
	}
	script, err := r.writeScript(c, at, folder)
	if err != nil {
		return err
	}
	to, err := os.Create(filepath.Join(folder, submittedName))
	if err != nil {
		return fmt.Errorf("submitting the job: %w", err)
	}
	defer to.Close()
	output := strings.ReplaceAll(filepath.Join(folder, outputName), "%", "%%")
	args := slices.Concat([]string{"--parsable"}, c.Args[min(1, at):at], []string{"--output=" + output, "--error=" + output, "--open-mode=append", script}, c.Args[at+1:])
	if _, err := r.queue.run(ctx, to, "sbatch", args...); err != nil {
		return fmt.Errorf("sbatch: %w", plainError(err))
	}
	return nil
}

// plainError returns an sbatch error without the "sbatch: error:" prefix of its lines.
func plainError(err error) error {
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "sbatch: "), "error: ")
	return errors.New(text)
}

// writeScript writes the script to submit, under the name of the user's script, which becomes the job's name.
func (r *Runner) writeScript(c run.Command, at int, folder string) (string, error) {
	name := c.Args[at]
	text, err := files.Read(name, maxText)
	if err != nil {
		return "", fmt.Errorf("reading the batch script: %w", err)
	}
	if err := CheckScript(filepath.Base(name), string(text)); err != nil {
		return "", err
	}
	to := filepath.Join(folder, filesName, "submit", filepath.Base(name))
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return "", fmt.Errorf("writing the batch script: %w", err)
	}
	if err := os.WriteFile(to, []byte(withProbe(string(text), folder, c.Set)), 0o600); err != nil {
		return "", fmt.Errorf("writing the batch script: %w", err)
	}
	return to, nil
}

// Cancel cancels the job of a run's folder, if any. It is for jobs that an earlier snug process left in the queue and
// that are no longer needed.
func (r *Runner) Cancel(ctx context.Context, folder string) error {
	r.prepare()
	id, cluster, ok := JobIn(folder)
	if !ok {
		return nil
	}
	_, err := r.queue.run(ctx, nil, "scancel", on(cluster, id)...)
	return err
}

func (r *Runner) say(format string, args ...any) {
	if r.Say != nil {
		r.Say(fmt.Sprintf(format, args...))
	}
}

// copyOutput copies what a job has printed since the last call.
func copyOutput(to io.Writer, name string, from int64) int64 {
	f, err := files.Open(name)
	if err != nil {
		return from
	}
	defer f.Close()
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return from
	}
	n, _ := io.Copy(to, io.LimitReader(f, maxText))
	return from + n
}
