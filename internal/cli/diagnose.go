// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"snug/internal/diagnose"
	"snug/internal/files"
	"snug/internal/lint"
	"snug/internal/snapshot"
	"snug/internal/term"
)

const diagnoseLong = `Explain why a run ran out of memory.

Give it the run's output, the error text, a memory snapshot, several of these,
or a job's folder; - is standard input. It understands the messages of every
PyTorch version, and those of CUDA libraries, data loaders, the operating
system, JAX and TensorFlow. A snapshot also shows what held the memory and what
grew.`

const diagnoseExample = `  snug diagnose train.log
  snug diagnose train.log oom.pickle
  python train.py 2>&1 | snug diagnose -
  snug diagnose outputs/run-17`

func newDiagnose(env Env) *cobra.Command {
	var json bool
	cmd := &cobra.Command{
		Use:     "diagnose FILE...",
		Short:   "Explain why a run ran out of memory, from its log or a snapshot",
		Long:    diagnoseLong,
		Example: diagnoseExample,
		Args:    cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && !term.Interactive(env.Stdin) {
				args = []string{"-"} // a pipe needs no name
			}
			return runDiagnose(env, json, args)
		},
	}
	cmd.Flags().BoolVar(&json, "json", false, "print one JSON object")
	return cmd
}

// runDiagnose runs the command: it reads everything, judges and prints.
func runDiagnose(env Env, json bool, paths []string) error {
	done := env.working("reading")
	defer done()
	named, err := evidenceFiles(paths)
	if err != nil {
		return err
	}
	var e diagnose.Evidence
	for _, path := range named {
		if err := addEvidence(env, &e, path); err != nil {
			return err
		}
	}
	if e.Recorded == nil && (e.Log == nil || e.Log.Lines == 0) {
		return errors.New("diagnose needs a log, an error text, a snapshot or a folder (- is standard input); see snug diagnose --help")
	}
	e.Keeper = sourceFiles{env, named}.keeper
	v := diagnose.Judge(e)
	done()
	if json {
		err = printJSON(env.Stdout, diagnosis(v))
	} else {
		_, err = io.WriteString(env.Stdout, diagnosisText(v, env.screen()))
	}
	if err == nil && v.Code != diagnose.None {
		err = found{}
	}
	return err
}

// The limits of a folder's search.
const (
	mostInFolder = 2000
	mostEvidence = 200
)

// evidenceFiles returns the files to read: those named, and the logs and snapshots in the folders named.
func evidenceFiles(paths []string) (out []string, err error) {
	for _, p := range paths {
		info, err := os.Stat(p)
		if p == "-" || err != nil || !info.IsDir() {
			out = append(out, p)
			continue
		}
		inside, err := evidenceIn(p, 2)
		if err != nil {
			return nil, err
		}
		if len(inside) == 0 {
			return nil, fmt.Errorf("%s has no logs (*.log, *.out, *.err, *.txt) and no snapshots (*.pickle, *.pkl, also with .gz); name the file", p)
		}
		out = append(out, inside...)
	}
	return out, nil
}

// evidenceIn returns the logs and snapshots in a folder and those below it, down to a depth.
func evidenceIn(folder string, depth int) (out []string, err error) {
	entries, err := files.ReadDir(folder, mostInFolder)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", folder, reason(err))
	}
	for _, e := range entries {
		name := filepath.Join(folder, e.Name())
		switch {
		case e.IsDir() && depth > 1:
			inside, err := evidenceIn(name, depth-1)
			if err != nil {
				return nil, err
			}
			out = append(out, inside...)
		case e.Type().IsRegular() && isEvidence(e.Name()) && len(out) < mostEvidence:
			out = append(out, name)
		}
	}
	return out, nil
}

var evidenceNames = []string{".log", ".out", ".err", ".txt", ".pickle", ".pkl", "stdout", "stderr"}

func isEvidence(name string) bool {
	name = strings.TrimSuffix(name, ".gz")
	return slices.ContainsFunc(evidenceNames, func(end string) bool { return strings.HasSuffix(name, end) })
}

// addEvidence reads a file: a snapshot if it begins like one, else a text.
func addEvidence(env Env, e *diagnose.Evidence, path string) error {
	f, err := env.open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<16)
	start, _ := in.Peek(2)
	if bytes.HasPrefix(start, []byte{0x80}) || bytes.Equal(start, []byte{0x1f, 0x8b}) {
		rec, err := snapshot.Read(in)
		if err != nil {
			return fmt.Errorf("reading %s: %w", path, reason(err))
		}
		e.Recorded = worse(e.Recorded, rec)
		return nil
	}
	log, err := diagnose.ReadLog(in)
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, reason(err))
	}
	if log.Binary {
		return fmt.Errorf("%s is neither text nor a memory snapshot", path)
	}
	e.Add(log)
	return nil
}

// worse returns the recording to judge by: the one in which a request failed.
func worse(known *diagnose.Recorded, rec *snapshot.Recording) *diagnose.Recorded {
	for i := range rec.Devices {
		r := diagnose.ReadRecording(rec, &rec.Devices[i])
		if known == nil || known.OOM == nil && (r.OOM != nil || r.Allocated > known.Allocated) {
			known = r
		}
	}
	return known
}

// sourceFiles finds the source files that a snapshot names.
type sourceFiles struct {
	env   Env
	given []string // the files that the user named
}

// largestSource is the most bytes of a source file that are read.
const largestSource = 4 << 20

// keeper returns the line that keeps what a line makes. The source is where the snapshot says, or under its
// name next to the snapshot or in this folder.
func (s sourceFiles) keeper(file string, line int) (int, bool) {
	places := []string{file, filepath.Base(file)}
	for _, g := range s.given {
		places = append(places, filepath.Join(filepath.Dir(g), filepath.Base(file)))
	}
	for _, p := range places {
		f, err := s.env.find(p)
		if err != nil {
			continue
		}
		src, err := files.ReadAll(f, largestSource)
		f.Close()
		if err == nil {
			return lint.Keeper(src, line)
		}
	}
	return 0, false
}
