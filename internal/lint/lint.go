// SPDX-License-Identifier: Apache-2.0

// Package lint finds code in training scripts that wastes GPU memory: tensors that are kept with their graphs,
// evaluation with gradients, an environment variable that has no effect. It reads Python without running it.
//
// A rule is a value (rule.go). It gets a module: a file's functions, with their calls and assignments, and the
// for, while, with and except blocks that enclose each. Expressions that come from a model or a loss are traced
// through the assignments in their function (values.go). Anything unknown is not reported: a false finding costs
// more than a missed one.
//
//	rule.go, finding.go          the table of rules; findings
//	module.go, walker.go, places.go, names.go  a file as rules see it
//	models.go, loops.go, values.go, keeps.go   models, steps, tensors, and what grows
//	kept_*.go, hooks.go, copies.go, exceptions.go  SNG1xx: kept memory
//	evaluation.go                SNG2xx
//	zero_grad.go, retain_graph.go  SNG3xx: gradients
//	logits.go, sizes.go          SNG4xx: sizes
//	checkpointing.go             SNG5xx
//	empty_cache.go, environment.go  SNG6xx: the allocator
//	loaders.go                   SNG7xx: loading data
//	amp.go                       SNG8xx: deprecated calls
//	lint.go, source.go, notebook.go  one file: reading, parsing, ignoring
//	paths.go, settings.go, baseline.go, fix.go  many files: selection, rules and fixes
//	sarif.go                     findings for other programs
//	keeper.go                    finds the line that keeps a tensor, for diagnose
package lint

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"snug/internal/pysrc"
)

// Options describe what to look for.
type Options struct {
	Rules func(path string) []Rule // nil means all except optional rules
	Torch string                   // the project's PyTorch release; "" if unknown
}

// defaults returns the rules that are not optional.
func defaults() []Rule {
	return slices.DeleteFunc(Rules(), func(r Rule) bool { return r.Optional })
}

// Source returns the findings in one file, in order. An error is one line with the position of the first syntax
// error, or a [SkippedError]. Names that end in .ipynb are notebooks.
func Source(path string, src []byte, o Options) ([]Finding, error) {
	rules := defaults()
	if o.Rules != nil {
		rules = o.Rules(path)
	}
	if strings.HasSuffix(path, ".ipynb") {
		return lintNotebook(path, src, rules, o.Torch)
	}
	code, exact, err := decoded(src)
	if err != nil {
		return nil, inFile(path, err)
	}
	file, err := pysrc.Parse(path, code)
	if err != nil {
		return nil, err
	}
	found, err := check(path, code, file.Body, rules, o.Torch)
	for i := range found {
		found[i].Path = path
		if !exact {
			found[i].edits = nil
		}
		found[i].Fixed = fixedLine(code, found[i])
	}
	return found, err
}

// mentionsTraining reports whether a file can have findings at all. Most files in a project cannot.
func mentionsTraining(src []byte) bool {
	for _, word := range []string{"torch", "TORCH", "lightning", "transformers", "accelerate", "peft", "padding"} {
		if bytes.Contains(src, []byte(word)) {
			return true
		}
	}
	return false
}

// check applies rules to a parsed file.
func check(path string, src []byte, body []pysrc.Stmt, rules []Rule, torch string) ([]Finding, error) {
	if !mentionsTraining(src) {
		return nil, nil
	}
	m := readModule(src, body)
	if err := m.generated(); err != nil {
		return nil, inFile(path, err)
	}
	m.torch = torch
	tests := m.isUnitTest(path)
	var out []Finding
	for _, rule := range rules {
		if tests && !rule.InTests {
			continue
		}
		r := &reporter{code: rule.Code}
		rule.check(m, r)
		out = append(out, r.findings...)
	}
	out = placed(src, out)
	slices.SortFunc(out, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), strings.Compare(a.Rule, b.Rule))
	})
	return out, nil
}

// placed adds the source lines to findings, and removes those on lines with "# snug: ignore" or "# snug: ignore[CODE,
// …]".
func placed(src []byte, findings []Finding) []Finding {
	if len(findings) == 0 {
		return nil
	}
	lines := strings.Split(strings.ReplaceAll(strings.ReplaceAll(string(src), "\r\n", "\n"), "\r", "\n"), "\n")
	out := findings[:0]
	for _, f := range findings {
		if f.Line <= len(lines) {
			f.Source = strings.TrimSpace(lines[f.Line-1])
		}
		if !ignores(f.Source, f.Rule) {
			out = append(out, f)
		}
	}
	return out
}

// ignores reports whether a line's comment ignores a rule.
func ignores(line, code string) bool {
	_, comment, ok := strings.Cut(line, "#")
	if !ok {
		return false
	}
	_, rest, ok := strings.Cut(comment, "snug: ignore")
	if !ok {
		return false
	}
	list, ok := strings.CutPrefix(rest, "[")
	if !ok {
		return rest == "" || !isWordByte(rest[0])
	}
	list, _, ok = strings.Cut(list, "]")
	for c := range strings.SplitSeq(list, ",") {
		if ok && matches(strings.TrimSpace(c), code) {
			return true
		}
	}
	return false
}

func isWordByte(c byte) bool {
	return c == '_' || c == '-' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// matches reports whether a selector covers a code: SNG101, SNG1 for a group, SNG or ALL for all.
func matches(selector, code string) bool {
	return selector == "ALL" || selector != "" && strings.HasPrefix(code, selector)
}
