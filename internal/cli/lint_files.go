// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"path/filepath"
	"slices"

	"snug/internal/config/change"
	"snug/internal/files"
	"snug/internal/lint"
)

// withoutKnown removes the findings of the baseline file.
func (o *lintOptions) withoutKnown(env Env, findings []lint.Finding) ([]lint.Finding, error) {
	if o.baseline == "" {
		return findings, nil
	}
	f, err := env.open(o.baseline)
	if err != nil {
		return nil, fmt.Errorf("--baseline: %w", err)
	}
	defer f.Close()
	data, err := files.ReadAll(f, lint.MaxBytes)
	if err != nil {
		return nil, fmt.Errorf("--baseline %s: %w", o.baseline, reason(err))
	}
	known, err := lint.ReadBaseline(o.baseline, data)
	if err != nil {
		return nil, err
	}
	return known.New(findings), nil
}

// saveBaseline writes all findings to the baseline file.
func (o *lintOptions) saveBaseline(env Env, findings []lint.Finding, results []lint.Result) error {
	if err := env.WriteFile(o.baseline, lint.WriteBaseline(findings)); err != nil {
		return fmt.Errorf("--baseline %s: %w", o.baseline, reason(err))
	}
	if o.format == "text" {
		fmt.Fprintf(env.Stdout, "Wrote %s to %s.\n", countOf(len(findings), "finding"), o.baseline)
	}
	return lintExit(env, nil, results)
}

// repair writes fixes into the files, as one change that snug revert undoes, and returns the remaining
// findings and how many were repaired.
func repair(results []lint.Result, findings []lint.Finding) (left []lint.Finding, fixed int, err error) {
	var rewrites []change.Rewrite
	byPath := map[string][]lint.Finding{}
	for _, f := range findings {
		byPath[f.Path] = append(byPath[f.Path], f)
	}
	for _, r := range results {
		of := byPath[r.Path]
		after, n := lint.Fix(r.Path, r.Source, of)
		if n == 0 {
			left = append(left, of...)
			continue
		}
		fixed += n
		left = append(left, slices.DeleteFunc(of, func(f lint.Finding) bool { return f.Fixed != "" })...)
		rewrites = append(rewrites, change.Rewrite{File: inFolder(r.Path), Before: r.Source, After: after})
	}
	if fixed == 0 {
		return left, 0, nil
	}
	store, err := change.Open(".", change.Options{})
	if err != nil {
		return nil, 0, err
	}
	c, err := store.PlanRewrites(rewrites)
	if err == nil {
		_, err = store.Apply(c, "snug lint --fix")
	}
	return left, fixed, err
}

// inFolder returns a path relative to this folder, if it is inside.
func inFolder(path string) string {
	if rel, err := filepath.Rel(absolute("."), absolute(path)); err == nil {
		return rel
	}
	return path
}
