// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"snug/internal/files"
)

// judge runs tests on mutants.
type judge struct {
	tests   []string
	timeout time.Duration
}

// verdict is the result of testing a mutant.
type verdict int

const (
	killed verdict = iota
	survived
	stillborn // the mutant does not compile and is not counted
)

// all tries mutants until n have compiled, and prints the results.
func (j judge) all(folder string, mutants []mutant, n int) error {
	count := map[verdict]int{}
	for _, m := range mutants {
		if n > 0 && count[killed]+count[survived] == n {
			break
		}
		v, err := j.try(m)
		if err != nil {
			return err
		}
		count[v]++
		if v == survived {
			first, _, more := strings.Cut(m.what, "\n")
			if more {
				first += " …"
			}
			fmt.Printf("survived  %s:%d  %s\n", m.file, m.line, first)
		}
	}
	fmt.Printf("%s: %d of %d tried, %d killed, %d survived, %d did not compile\n",
		folder, count[killed]+count[survived], len(mutants), count[killed], count[survived], count[stillborn])
	return nil
}

// try runs the tests with one mutant in place of its file.
func (j judge) try(m mutant) (verdict, error) {
	dir, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	overlay, err := overlayOf(dir, m)
	if err != nil {
		return 0, err
	}
	if exec.Command("go", "build", "-overlay", overlay, "./"+filepath.Dir(m.file)).Run() != nil {
		return stillborn, nil
	}
	for _, pkg := range j.tests {
		args := []string{"test", "-overlay", overlay, "-vet=off", "-failfast", "-count=1", "-timeout", j.timeout.String()}
		if _, err := exec.LookPath("prlimit"); err == nil { // a mutant may allocate without end
			args = append(args, "-exec", "prlimit --as=12000000000")
		}
		if exec.Command("go", append(args, pkg)...).Run() != nil {
			return killed, nil
		}
	}
	return survived, nil
}

// overlayOf writes the file for go -overlay, which replaces the original with the mutant, and returns its path.
func overlayOf(dir string, m mutant) (string, error) {
	source, err := files.Read(m.file, 1<<24)
	if err != nil {
		return "", err
	}
	real, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	text, err := json.Marshal(map[string]map[string]string{"Replace": {real: changed}})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(changed, m.apply(source), 0o600); err != nil {
		return "", err
	}
	return overlay, os.WriteFile(overlay, text, 0o600)
}
