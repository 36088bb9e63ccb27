// SPDX-License-Identifier: Apache-2.0

package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing/fstest"
)

// setupText returns the setup and what is missing from it.
func setupText(p *Project) string {
	var b strings.Builder
	data, err := json.Marshal(p.Fields())
	if err != nil {
		return err.Error()
	}
	fmt.Fprintf(&b, "%s\n", data)
	for _, m := range p.Missing() {
		fmt.Fprintf(&b, "missing %s: %s\n", m.Setting, m.Say)
	}
	return b.String()
}

// lineDiff returns the lines that differ between two versions of the files.
func lineDiff(before, after fstest.MapFS) string {
	var names []string
	for name := range after {
		names = append(names, name)
	}
	slices.Sort(names)
	var b strings.Builder
	for _, name := range names {
		var old []string
		if f := before[name]; f != nil {
			old = strings.Split(string(f.Data), "\n")
		} else {
			fmt.Fprintf(&b, "new %s\n", name)
		}
		now := strings.Split(string(after[name].Data), "\n")
		for _, d := range differences(old, now) {
			fmt.Fprintf(&b, "%s:%d: %s %s\n", name, d.line, d.sign, visible(d.text))
		}
	}
	return b.String()
}

func visible(line string) string { return strings.ReplaceAll(line, "\r", "\\r") }

type difference struct {
	line       int
	sign, text string
}

// differences compares texts line by line, using the longest common subsequence.
func differences(old, now []string) []difference {
	common := make([][]int, len(old)+1)
	for i := range common {
		common[i] = make([]int, len(now)+1)
	}
	for i := len(old) - 1; i >= 0; i-- {
		for j := len(now) - 1; j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); old[i] == now[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	var out []difference
	for i, j := 0, 0; i < len(old) || j < len(now); {
		switch {
		case i < len(old) && j < len(now) && old[i] == now[j]:
			i, j = i+1, j+1
		case i < len(old) && (j == len(now) || common[i+1][j] >= common[i][j+1]):
			out = append(out, difference{i + 1, "-", old[i]})
			i++
		default:
			out = append(out, difference{j + 1, "+", now[j]})
			j++
		}
	}
	return out
}

func firstLine(text string) string {
	first, _, more := strings.Cut(text, "\n")
	if more {
		first += " ..."
	}
	return first
}

func shown(v any) string {
	if _, ok := v.(map[string]any); ok {
		return "an object"
	}
	return fmt.Sprint(v)
}
