// SPDX-License-Identifier: Apache-2.0

// Command mutate introduces small mistakes into packages, one at a time, and lists those that no test notices:
//
//	go run ./internal/mutate -n 40 -seed 1 -tests ./internal/shadow,./internal/simulate internal/shadow
//
// Files are not changed: the go command reads the mutated file in place of the original (-overlay). A survivor is a
// gap in the tests, unneeded code, or a change that makes no difference; a person must decide which.
package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"snug/internal/files"
)

// options are the flags and arguments.
type options struct {
	n       int
	seed    uint64
	only    string
	line    int
	tests   []string
	timeout time.Duration
	folders []string
}

func main() {
	if err := mutate(parse()); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(2)
	}
}

func parse() options {
	var o options
	var tests string
	flag.IntVar(&o.n, "n", 40, "how many mutants of each folder to try, 0 for all")
	flag.Uint64Var(&o.seed, "seed", 1, "seed for choosing them")
	flag.StringVar(&o.only, "only", "", "only files whose name contains this")
	flag.IntVar(&o.line, "line", 0, "only this line, such as a survivor that now has a test")
	flag.StringVar(&tests, "tests", "", "packages whose tests to run, separated by commas (default the folder's own)")
	flag.DurationVar(&o.timeout, "timeout", 2*time.Minute, "how long the tests of one package may take")
	flag.Parse()
	if tests != "" {
		o.tests = strings.Split(tests, ",")
	}
	o.folders = flag.Args()
	return o
}

// mutate tries the mutants of each folder.
func mutate(o options) error {
	if len(o.folders) == 0 {
		return fmt.Errorf("no folder given; try internal/shadow")
	}
	for _, folder := range o.folders {
		found, err := inFolder(folder, o.only)
		if err != nil {
			return err
		}
		if o.line > 0 {
			found = slices.DeleteFunc(found, func(m mutant) bool { return m.line != o.line })
		}
		if len(found) == 0 {
			return fmt.Errorf("%s contains nothing to change", folder)
		}
		rand.New(rand.NewPCG(o.seed, 0)).Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
		j := judge{tests: o.tests, timeout: o.timeout}
		if j.tests == nil {
			j.tests = []string{"./" + folder}
		}
		if err := j.all(folder, found, o.n); err != nil {
			return err
		}
	}
	return nil
}

// inFolder returns the mutants of a package's files, except tests.
func inFolder(folder, only string) ([]mutant, error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	var out []mutant
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || !strings.Contains(filepath.Base(name), only) {
			continue
		}
		source, err := files.Read(name, 1<<24)
		if err != nil {
			return nil, err
		}
		found, err := mutantsOf(name, source)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}
