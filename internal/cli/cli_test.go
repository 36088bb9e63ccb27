// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"

	"snug/internal/files"
	"snug/internal/gpu"
	"snug/internal/gpu/rocm"
	"snug/internal/gpu/smi"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"snug": func() {
		os.Exit(Run(context.Background(), Env{
			Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Environ: os.Environ, Build: Build{Version: "test"},
			Open:      func(path string) (io.ReadCloser, error) { return files.OpenNamed(path) },
			Find:      func(path string) (io.ReadCloser, error) { return files.Open(path) },
			WriteFile: func(path string, data []byte) error { return os.WriteFile(path, data, 0o644) },
			LookupEnv: os.LookupEnv, GPUs: recordedGPUs(os.Getenv("GPUS")), Samplers: recordedSamples(os.Getenv("SAMPLES")),
		}, os.Args[1:]))
	}, "reportsteps": func() {
		if err := reportSteps(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}})
}

// recordedGPUs reads files in a folder instead of querying the machine. They are named after the query:
// nvidia-smi.query-gpu, amd-smi.static and so on.
func recordedGPUs(dir string) []gpu.Source {
	run := func(_ context.Context, name string, args ...string) ([]byte, error) {
		ask, _, _ := strings.Cut(args[0], "=")
		data, err := os.ReadFile(filepath.Join(dir, name+"."+strings.Trim(ask, "-")))
		if err != nil {
			return nil, errors.New("not installed")
		}
		return data, nil
	}
	return []gpu.Source{smi.Source{Run: run}, rocm.AMDSMI{Run: run}, rocm.ROCmSMI{Run: run}, rocm.Sysfs{Root: os.DirFS(dir)}}
}

// recordedSamples reads files in a folder instead of running nvidia-smi: query-gpu and query-compute-apps.
func recordedSamples(folder string) []gpu.SampledSource {
	if folder == "" {
		return nil
	}
	return []gpu.SampledSource{smi.Source{Run: func(_ context.Context, _ string, args ...string) ([]byte, error) {
		name, _, _ := strings.Cut(strings.TrimPrefix(args[0], "--"), "=")
		return os.ReadFile(filepath.Join(folder, name))
	}}}
}

// condition evaluates the conditions that scripts use in addition to testscript's own.
func condition(cond string) (bool, error) {
	if cond == "root" {
		return os.Geteuid() == 0, nil
	}
	return false, fmt.Errorf("unknown condition %q", cond)
}

// TestScripts runs testdata/*.txtar. Recordings are in $RECORDINGS, $TRACES and $WATCHED, and $RUNS is the
// number of measured runs. In addition to testscript's own commands there are
//
//	exits N COMMAND...     run a command and expect this exit code
//	bytes FILE "TEXT"      write a file, TEXT being a Go string literal
//	head FILE N OUT        the first N bytes of a file
//	tunes                  print the tune reports in the store, as snug serve shows them
func TestScripts(t *testing.T) {
	recordings, err := filepath.Abs("../snapshot/testdata")
	if err != nil {
		t.Fatal(err)
	}
	traces, err := filepath.Abs("../../testdata/measured/traces")
	if err != nil {
		t.Fatal(err)
	}
	runs := measuredRuns(t)
	watched, err := filepath.Abs("../../testdata/watch")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           "testdata",
		UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			e.Setenv("RECORDINGS", recordings)
			e.Setenv("TRACES", traces)
			e.Setenv("WATCHED", watched)
			e.Setenv("RUNS", runs)
			e.Setenv("SNUG_STORE", filepath.Join(e.WorkDir, "measured.db"))
			e.Setenv("LANG", "C.UTF-8")
			return nil
		},
		Condition: condition,
		Cmds:      map[string]func(*testscript.TestScript, bool, []string){"exits": exits_, "bytes": bytes_, "head": head_, "tunes": tunes_},
	})
}

// measuredRuns returns how many measured runs the general interval is based on.
func measuredRuns(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../estimate/residuals.json")
	if err != nil {
		t.Fatal(err)
	}
	var table struct {
		Measured []struct {
			Groups map[string]struct{ Cases int }
		}
	}
	if err := json.Unmarshal(data, &table); err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(table.Measured[0].Groups[""].Cases)
}

func exits_(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func bytes_(ts *testscript.TestScript, _ bool, args []string) {
	text, err := strconv.Unquote(args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
}

func head_(ts *testscript.TestScript, _ bool, args []string) {
	data, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), data[:n], 0o644))
}

func tunes_(ts *testscript.TestScript, _ bool, _ []string) {
	list, err := Env{Getenv: ts.Getenv}.tunes()
	ts.Check(err)
	ts.Check(printJSON(ts.Stdout(), list))
}

// TestHelpFits checks that every help text fits a terminal of 80 columns.
func TestHelpFits(t *testing.T) {
	lines := [][]string{{"--help"}}
	for _, c := range newRoot(Env{}).Commands() {
		lines = append(lines, []string{c.Name(), "--help"})
	}
	for _, args := range lines {
		var out strings.Builder
		env := Env{Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }}
		if code := Run(context.Background(), env, args); code != exitDone {
			t.Errorf("%v: exit code %d", args, code)
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
				t.Errorf("%v: %d columns: %s", args, n, line)
			}
		}
	}
}

// TestFirstHelpFits checks that the output of snug without arguments fits a terminal of 24 rows, with the
// prompt.
func TestFirstHelpFits(t *testing.T) {
	var out strings.Builder
	env := Env{Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }}
	if code := Run(context.Background(), env, nil); code != exitDone {
		t.Errorf("exit code %d", code)
	}
	if rows := strings.Count(out.String(), "\n"); rows > 23 || !strings.Contains(out.String(), "estimate") {
		t.Errorf("%d rows:\n%s", rows, out.String())
	}
}
