// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"snug/internal/files"
	"snug/internal/lint"
)

type lintOptions struct {
	paths         []string
	format        string
	json          bool
	selected      []string
	ignored       []string
	baseline      string
	writeBaseline bool
	fix           bool
	explain       string
}

const lintLong = `Find code in training scripts that costs GPU memory: tensors kept with their
graphs, evaluation with gradients, outputs that pile up, an allocator variable
that PyTorch does not read. Python files and notebooks are read, never run.

PATH is a file, a folder, or - for standard input; without one, this folder.
A comment "# snug: ignore[SNG101]" keeps a line from being reported, and
[tool.snug.lint] in pyproject.toml has select, ignore, exclude,
per-file-ignores and torch. snug lint --explain all lists the rules.`

const lintExample = `  snug lint
  snug lint train.py notebooks --select SNG1,SNG2
  snug lint --fix src
  snug lint --explain SNG101
  snug lint --baseline known.jsonl --write-baseline`

func newLint(env Env) *cobra.Command {
	var o lintOptions
	cmd := &cobra.Command{
		Use:     "lint [PATH...]",
		Short:   "Find code that costs GPU memory",
		Long:    lintLong,
		Example: lintExample,
		RunE: func(_ *cobra.Command, args []string) error {
			o.paths = args
			return runLint(env, o)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.format, "format", "text", "`format` of the findings: text, json, sarif or github")
	f.StringSliceVar(&o.selected, "select", nil, "only these `rules`: codes, prefixes of codes, or ALL")
	f.StringSliceVar(&o.ignored, "ignore", nil, "skip these `rules`")
	f.StringVar(&o.baseline, "baseline", "", "`file` of known findings, which are not reported")
	f.BoolVar(&o.writeBaseline, "write-baseline", false, "write all findings to the baseline file")
	f.BoolVar(&o.fix, "fix", false, "repair what can be repaired safely; snug revert undoes it")
	f.StringVar(&o.explain, "explain", "", "explain the rule with this `code`; all lists the rules")
	f.BoolVar(&o.json, "json", false, "print one JSON object per finding")
	return cmd
}

// runLint reads the settings, checks the files, repairs them with --fix, and prints the findings.
func runLint(env Env, o lintOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	if o.explain != "" {
		return explainRule(env, o.explain)
	}
	settings, err := o.settings(env)
	if err != nil {
		return err
	}
	results, err := o.results(env, settings)
	if err != nil {
		return err
	}
	if len(results) == 0 {
		env.note(nothingChecked)
	}
	findings := allFindings(results)
	if o.writeBaseline {
		return o.saveBaseline(env, findings, results)
	}
	if findings, err = o.withoutKnown(env, findings); err != nil {
		return err
	}
	fixed := 0
	if o.fix {
		if findings, fixed, err = repair(results, findings); err != nil {
			return err
		}
	}
	if err := o.print(env, findings, checkedFiles(results), fixed); err != nil {
		return err
	}
	return lintExit(env, findings, results)
}

// check returns an error for flags that contradict each other.
func (o *lintOptions) check() error {
	if o.json {
		o.format = "json"
	}
	switch {
	case !slices.Contains([]string{"text", "json", "sarif", "github"}, o.format):
		return fmt.Errorf("--format %q: write text, json, sarif or github", o.format)
	case o.writeBaseline && o.baseline == "":
		return errors.New("--write-baseline needs the file: --baseline FILE")
	case o.writeBaseline && o.fix:
		return errors.New("--write-baseline and --fix cannot be combined; repair first")
	case o.fix && slices.Contains(o.paths, "-"):
		return errors.New("--fix cannot repair standard input; name the file")
	case len(o.paths) == 0:
		o.paths = []string{"."}
	}
	return nil
}

// settings returns the settings of the nearest pyproject.toml, overridden by flags.
func (o *lintOptions) settings(env Env) (lint.Settings, error) {
	s, err := projectSettings(env)
	if err != nil {
		return s, err
	}
	if len(o.selected) > 0 {
		s.Select = o.selected
	}
	s.Ignore = slices.Concat(s.Ignore, o.ignored)
	return s, s.Check()
}

// projectSettings reads the pyproject.toml of this folder or of the nearest one above.
func projectSettings(env Env) (lint.Settings, error) {
	dir := absolute(".")
	for {
		name := filepath.Join(dir, "pyproject.toml")
		f, err := env.find(name)
		if err == nil {
			defer f.Close()
			data, err := files.ReadAll(f, lint.MaxBytes)
			if err != nil {
				return lint.Settings{}, fmt.Errorf("reading %s: %w", name, reason(err))
			}
			return lint.ReadSettings(name, data)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return lint.Settings{}, fmt.Errorf("reading %s: %w", name, reason(err))
		}
		if filepath.Dir(dir) == dir {
			return lint.Settings{}, nil
		}
		dir = filepath.Dir(dir)
	}
}

// results checks all files.
func (o *lintOptions) results(env Env, s lint.Settings) ([]lint.Result, error) {
	paths, err := lint.Paths(o.paths, s.Excludes)
	if err != nil {
		return nil, err
	}
	read := func(path string) ([]byte, error) {
		f, err := env.open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		data, err := files.ReadAll(f, lint.MaxBytes)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, reason(err))
		}
		return data, nil
	}
	return lint.Check(paths, read, lint.Options{Rules: s.Rules, Torch: s.Torch}), nil
}

func allFindings(results []lint.Result) []lint.Finding {
	var out []lint.Finding
	for _, r := range results {
		out = append(out, r.Findings...)
	}
	return out
}

// checkedFiles returns the number of files that could be checked.
func checkedFiles(results []lint.Result) (n int) {
	for _, r := range results {
		if r.Err == nil {
			n++
		}
	}
	return n
}

// lintExit prints the files that could not be checked and returns the error for the exit code.
func lintExit(env Env, findings []lint.Finding, results []lint.Result) error {
	failed := 0
	for _, r := range results {
		if r.Err == nil {
			continue
		}
		if !errors.As(r.Err, &lint.SkippedError{}) {
			failed++
		}
		fmt.Fprintf(env.Stderr, "snug: %s\n", oneLine(r.Err.Error()))
	}
	switch {
	case failed > 0:
		return fmt.Errorf("%s could not be checked", countOf(failed, "file"))
	case len(findings) > 0:
		return found{}
	}
	return nil
}

// explainRule prints a rule, or the list of all.
func explainRule(env Env, code string) error {
	if strings.EqualFold(code, "all") {
		return printLines(env.Stdout, ruleTable())
	}
	r, ok := lint.RuleOf(strings.ToUpper(code))
	if !ok {
		return fmt.Errorf("--explain: there is no rule %q; --explain all lists them", code)
	}
	_, err := io.WriteString(env.Stdout, ruleText(r, env.screen().Width))
	return err
}
