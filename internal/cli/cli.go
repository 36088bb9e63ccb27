// SPDX-License-Identifier: Apache-2.0

// Package cli is the command line: it parses flags, calls the packages that do the work, and prints their
// answers. It accesses the outside world only through an Env, so tests need no separate process.
//
// Each command has a file with its name for its flags and help text, and further files that begin with that
// name. Several commands share these files:
//
//	cli.go                            Env, Run, and the error that is printed, as text and as JSON
//	env_record.go                     the Env in the form that package record needs
//	root.go, manual.go                the list of commands; their man pages and completions
//	setup_flags.go, setting_flags.go  the flags that describe a run, and the card
//	setup_requests.go, spool.go       setups from --setup and flags
//	project.go, project_setup.go, project_model.go  runs from the config files of a folder
//	lone_script.go, model_arg.go      the only training script of a folder; a model without --model
//	loop_arguments.go                 the arguments in --loop "train.py ARGS"
//	own_code.go                       the command that records code that builds its own model
//	vary.go                           the sizes given with --vary
//	recorded.go                       a profile as the model
//	setup_names.go                    errors with a field as the user wrote it: its flag, or file and line
//	checks.go, flags_once.go, dash.go, suggest.go  mistakes in flags and arguments
//	flag_names.go, others_flags.go    alternative names of flags, including those of other tools
//	here.go                           the card of this machine, if none is named
//	short.go, working.go              answers in one line, and progress on a terminal
//	answer.go                         many setups, answered in parallel and in order
//	exit.go, brief.go, notes.go       exit codes, long messages, notes on standard error
//	card_text.go, load_text.go        sentences about cards and about loading
//	remedies.go                       changes that would make a run fit
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"path/filepath"
	"slices"
	"strings"

	"snug/internal/gpu"
	"snug/internal/redact"
	"snug/internal/run"
	"snug/internal/term"
)

// Env is the commands' access to the outside world.
type Env struct {
	Stdin          io.Reader                                  // standard input
	Stdout, Stderr io.Writer                                  // standard output and standard error
	Getenv         func(string) string                        // looks up an environment variable
	LookupEnv      func(string) (string, bool)                // if nil, a variable is set if Getenv returns a value
	Open           func(path string) (io.ReadCloser, error)   // a file that the user named, or a pipe
	Find           func(path string) (io.ReadCloser, error)   // a regular file found in a folder or named by another file; if nil, Open is used
	WriteFile      func(path string, data []byte) error       // writes the whole file or nothing
	GPUs           []gpu.Source                               // ways to list the GPUs of this machine
	Samplers       []gpu.SampledSource                        // ways to sample them
	CPUs           int                                        // number of processors; 0 if unknown
	Environ        func() []string                            // the environment of the commands that snug starts
	Runner         run.Runner                                 // starts those commands; if nil, they run on this machine
	OnLongRun      func()                                     // called when a command will take a long time; may be nil
	OnLargeHeap    func()                                     // called when a command will keep many simulations in memory; may be nil
	Listen         func(address string) (net.Listener, error) // opens a port for snug serve
	Build          Build                                      // identifies this build of snug
}

// asksJSON reports whether --json is given before --.
func asksJSON(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return slices.Contains(args, "--json")
}

// Run runs one command line (without the program's name) and returns the exit
// code. It also prints the error, if any.
func Run(ctx context.Context, env Env, args []string) int {
	env.Stdout, env.Stderr = term.NewOutput(env.Stdout, env.Getenv), term.NewOutput(env.Stderr, env.Getenv)
	root := newRoot(env)
	root.SetArgs(args)
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	if msg := oneLine(env.secrets(args).Hide(err.Error())); msg != "" {
		fmt.Fprintf(env.Stderr, "snug: %s\n", msg)
		if asksJSON(args) && isFailure(err) && !isAnswered(err) {
			_ = printJSON(env.Stdout, struct {
				Error string `json:"error"`
			}{msg})
		}
	}
	return exitCode(err)
}

// secrets returns the secrets in the command line and the environment.
func (e Env) secrets(args []string) redact.Values {
	if e.Environ == nil {
		return redact.ValuesOf(args, nil)
	}
	return redact.ValuesOf(args, e.Environ())
}

// oneLine puts a message on one line.
func oneLine(s string) string {
	return brief(strings.ReplaceAll(strings.TrimSpace(s), "\n", "; "))
}

// screen describes what standard output can show.
func (e Env) screen() term.Screen {
	if o, ok := e.Stdout.(*term.Output); ok {
		return o.Screen()
	}
	return term.Detect(e.Stdout, e.Getenv)
}

// raw returns standard output or standard error itself, for a command that snug starts.
func raw(w io.Writer) io.Writer {
	if o, ok := w.(*term.Output); ok {
		return o.Unwrap()
	}
	return w
}

// lookupEnv returns a variable, and whether it is set at all.
func (e Env) lookupEnv(name string) (string, bool) {
	if e.LookupEnv != nil {
		return e.LookupEnv(name)
	}
	v := e.Getenv(name)
	return v, v != ""
}

// machine returns the GPUs of this machine that PyTorch would see.
func (e Env) machine(ctx context.Context) *gpu.Machine {
	m := gpu.Detect(ctx, e.GPUs)
	m.Limit(e.lookupEnv)
	return m
}

// open opens a file that the user named; "-" is standard input.
func (e Env) open(path string) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(e.Stdin), nil
	}
	f, err := e.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, reason(err))
	}
	return f, nil
}

// find opens a regular file that the user did not name.
func (e Env) find(path string) (io.ReadCloser, error) {
	if e.Find == nil {
		return e.Open(path)
	}
	return e.Find(path)
}

// opener returns a function that opens the files that setups name. Only files named on the command line may be
// pipes.
func (e Env) opener(typed ...string) func(string) (io.ReadCloser, error) {
	return func(path string) (io.ReadCloser, error) {
		if slices.ContainsFunc(typed, func(t string) bool { return t != "" && absolute(t) == absolute(path) }) {
			return e.Open(path)
		}
		return e.find(path)
	}
}

// absolute returns the absolute path, or the path itself if it cannot be made absolute.
func absolute(name string) string {
	if abs, err := filepath.Abs(name); err == nil {
		return abs
	}
	return name
}

// reason returns an error without its operation and path, which the message already contains.
func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// printJSON writes v as one line of JSON.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
