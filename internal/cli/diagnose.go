// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"bytes"
	"context"
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

Give it the run's output, a memory snapshot, several of these, or a job's
folder; - is standard input. The error text itself also works, in quotes. snug
understands the messages of every PyTorch version, and those of CUDA libraries,
data loaders, the operating system, JAX and TensorFlow. If the run itself is
known, from flags, a config next to the script or the folder, it is simulated,
and so are the fixes. A snapshot also shows what used the memory and what grew.
Given two snapshots, snug compares them.

With --watch, everything after -- is your training command. It runs unchanged
while snug records its allocations. When an allocation fails, snug keeps a
snapshot; when the run fails, it prints the verdict. If the command fails for
another reason, snug exits with its exit code.`

const diagnoseExample = `  snug diagnose train.log
  snug diagnose train.log oom.pickle
  snug diagnose "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has ..."
  python train.py 2>&1 | snug diagnose -
  snug diagnose outputs/run-17
  snug diagnose step10.pickle step90.pickle
  snug diagnose oom.pickle --html oom.html
  snug diagnose --watch -- python train.py --batch 64`

// diagnoseOptions are the flags of the command. The setup's flags describe the run that failed.
type diagnoseOptions struct {
	setupFlags
	projectFlags
	json  bool
	html  string
	watch bool
	keep  string
	last  int
}

func newDiagnose(env Env) *cobra.Command {
	var o diagnoseOptions
	cmd := &cobra.Command{
		Use:     "diagnose [flags] FILE... | --watch -- COMMAND...",
		Short:   "Explain why a run ran out of memory, from its log or a snapshot",
		Long:    diagnoseLong,
		Example: diagnoseExample,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(cmd, args); err != nil {
				return err
			}
			if o.watch {
				return runDiagnoseWatch(cmd.Context(), env, o, args)
			}
			if len(args) == 0 && !term.Interactive(env.Stdin) {
				args = []string{"-"} // standard input is a pipe or a file
			}
			return runDiagnose(cmd.Context(), env, o, args)
		},
	}
	o.add(cmd)
	f := cmd.Flags()
	o.addTo(f)
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	f.StringVar(&o.html, "html", "", "write the snapshot's timeline, flame graph and map to an HTML `file`")
	f.BoolVar(&o.watch, "watch", false, "run the command after --, and diagnose it if it runs out of memory")
	f.IntVar(&o.last, "last", 3, "with --watch, keep snapshots of the last `N` failed allocations")
	f.StringVar(&o.keep, "keep", "snug-oom", "with --watch, the `folder` to keep them in")
	return cmd
}

// runDiagnose reads all files, finds the cause and prints it.
func runDiagnose(ctx context.Context, env Env, o diagnoseOptions, paths []string) error {
	done := env.working("reading")
	defer done()
	e, err := readEvidence(env, paths)
	if err != nil {
		return err
	}
	v := diagnose.Judge(e)
	if err := o.compute(ctx, env, v, paths); err != nil {
		return err
	}
	done()
	if err := writePage(env, o.html, v, e.Recorded); err != nil {
		return err
	}
	return o.print(env, v)
}

// print writes the verdict, and returns its exit code.
func (o diagnoseOptions) print(env Env, v *diagnose.Verdict) (err error) {
	if o.json {
		err = printJSON(env.Stdout, diagnosis(v))
	} else {
		_, err = io.WriteString(env.Stdout, diagnosisText(v, env.screen()))
	}
	if err == nil && v.Code != diagnose.None {
		err = found{}
	}
	return err
}

// readEvidence reads all files that were named.
func readEvidence(env Env, paths []string) (e diagnose.Evidence, err error) {
	if log := errorText(paths); log != nil {
		e.Log = log
		return e, nil
	}
	named, err := evidenceFiles(paths)
	if err != nil {
		return e, err
	}
	g := gathered{env: env}
	for _, path := range named {
		if err := g.add(path); err != nil {
			return e, err
		}
	}
	e = g.evidence(len(paths) == len(named))
	if e.Recorded == nil && (e.Log == nil || e.Log.Lines == 0) {
		return e, errors.New("diagnose needs a log, an error text, a snapshot or a folder (- is standard input); see snug diagnose --help")
	}
	e.Keeper = sourceFiles{env, named}.keeper
	return e, nil
}

// errorText reads an error text that was given instead of a file, in one argument or, without quotes, in several. It
// returns nil if an argument is a file, or if the text has no message.
func errorText(args []string) *diagnose.Log {
	for _, a := range args {
		if _, err := os.Stat(a); a == "-" || err == nil {
			return nil
		}
	}
	text := strings.Join(args, " ")
	if !strings.Contains(text, " ") || isEvidence(text) {
		return nil // the text is the name of a missing file
	}
	log, err := diagnose.ReadLog(strings.NewReader(text))
	if err != nil || len(log.Messages) == 0 {
		return nil
	}
	return log
}

// missingFile returns the error for a file that cannot be read. If the argument looks like text, the error
// explains how to pass a text.
func missingFile(path string, err error) error {
	if !strings.ContainsAny(path, " \n") {
		return err
	}
	return fmt.Errorf("%q is neither a file nor an error text that snug knows; to diagnose a run's output, save it to a file or pipe it in: python train.py 2>&1 | snug diagnose -", firstWords(path))
}

// firstWords returns the start of a long text.
func firstWords(text string) string {
	const most = 60
	r := []rune(text)
	if len(r) <= most {
		return text
	}
	return string(r[:most]) + "…"
}

// writePage writes the HTML file, if requested.
func writePage(env Env, path string, v *diagnose.Verdict, r *diagnose.Recorded) error {
	switch {
	case path == "":
		return nil
	case r == nil:
		return errors.New("--html draws a memory snapshot, and none was given; record one with torch.cuda.memory._record_memory_history(), or run the program under snug diagnose --watch")
	}
	var page bytes.Buffer
	if err := diagnose.WritePage(&page, v, r); err != nil {
		return err
	}
	return env.write(path, page.Bytes())
}

// Limits of the search in a folder.
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

// evidenceIn returns the logs and snapshots in a folder and in the folders below it, down to a depth.
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

// gathered is the evidence read so far.
type gathered struct {
	env       Env
	log       diagnose.Evidence // from the log alone
	snapshots []*snapshot.Recording
}

// add reads a file: a snapshot if it begins like one, otherwise text.
func (g *gathered) add(path string) error {
	f, err := g.env.open(path)
	if err != nil {
		return missingFile(path, err)
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<16)
	start, _ := in.Peek(2)
	if bytes.HasPrefix(start, []byte{0x80}) || bytes.Equal(start, []byte{0x1f, 0x8b}) {
		rec, err := snapshot.Read(in)
		if err != nil {
			return fmt.Errorf("reading %s: %w", path, reason(err))
		}
		g.snapshots = append(g.snapshots, rec)
		return nil
	}
	log, err := diagnose.ReadLog(in)
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, reason(err))
	}
	if log.Binary {
		return fmt.Errorf("%s is neither text nor a memory snapshot", path)
	}
	g.log.Add(log)
	return nil
}

// evidence returns the evidence from all files. Two named snapshots are compared; among a folder's snapshots,
// the one in which an allocation failed is used.
func (g *gathered) evidence(named bool) diagnose.Evidence {
	e := g.log
	if named && len(g.snapshots) == 2 {
		device := 0
		e.Recorded, device = worst(nil, 0, g.snapshots[1])
		first := g.snapshots[0].Device(device)
		if first == nil {
			first = g.snapshots[0].Busiest()
		}
		if first != nil {
			e.Earlier = diagnose.ReadRecording(g.snapshots[0], first)
		}
		return e
	}
	for _, rec := range g.snapshots {
		e.Recorded, _ = worst(e.Recorded, 0, rec)
	}
	return e
}

// worst returns the recording to examine, and the index of its device: the one in which an allocation failed,
// or else the one that uses the most memory.
func worst(known *diagnose.Recorded, device int, rec *snapshot.Recording) (*diagnose.Recorded, int) {
	for i := range rec.Devices {
		r := diagnose.ReadRecording(rec, &rec.Devices[i])
		if known == nil || known.OOM == nil && (r.OOM != nil || r.Allocated > known.Allocated) {
			known, device = r, rec.Devices[i].Index
		}
	}
	return known, device
}

// sourceFiles finds the source files named in a snapshot.
type sourceFiles struct {
	env   Env
	given []string // the files that the user named
}

// largestSource is the size limit for source files, in bytes.
const largestSource = 4 << 20

// keeper returns the line that keeps the tensor that another line creates.
func (s sourceFiles) keeper(file string, line int) (int, bool) {
	_, src := s.read(file)
	if src == nil {
		return 0, false
	}
	return lint.Keeper(src, line)
}

// kept returns the first line of a script that keeps a tensor of every step; nil if there is none.
func (s sourceFiles) kept(script string) *diagnose.Kept {
	if script == "" {
		return nil
	}
	path, src := s.read(script)
	found := lint.Kept(src)
	if len(found) == 0 {
		return nil
	}
	at := found[0]
	return &diagnose.Kept{Where: fmt.Sprintf("%s:%d", filepath.Base(path), at.Line), Code: at.Source, File: path}
}

// read returns the path and the content of a source file, or nil. It tries the path in the snapshot or the
// traceback, then the same name next to the files given and in this folder.
func (s sourceFiles) read(file string) (path string, src []byte) {
	places := []string{file, filepath.Base(file)}
	for _, g := range s.given {
		places = append(places, filepath.Join(filepath.Dir(g), filepath.Base(file)))
		if info, err := os.Stat(g); err == nil && info.IsDir() {
			places = append(places, filepath.Join(g, filepath.Base(file)))
		}
	}
	for _, p := range places {
		f, err := s.env.find(p)
		if err != nil {
			continue
		}
		src, err := files.ReadAll(f, largestSource)
		f.Close()
		if err == nil {
			return p, src
		}
	}
	return "", nil
}
