// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strings"

	"snug/internal/config"
	"snug/internal/pattern"
	"snug/internal/profile"
)

// maxSizes bounds the number of runs.
const maxSizes = 16

// readSizes makes the points to run at of what --vary says: the first value of
// each quantity together, then every other value with the rest at their first.
func readSizes(vary []string) ([]profile.Point, error) {
	base := profile.Point{}
	points := []profile.Point{base}
	var others []profile.Point
	for _, text := range vary {
		name, list, ok := strings.Cut(text, "=")
		if !ok {
			return nil, fmt.Errorf("--vary %s: write it like batch=2,3", text)
		}
		if _, twice := base[name]; twice {
			return nil, fmt.Errorf("--vary gives %s twice; put its values together: %s=2,3", name, name)
		}
		for i, value := range strings.Split(list, ",") {
			p, err := profile.ParsePoint(name + "=" + value)
			if err != nil {
				return nil, fmt.Errorf("--vary: %w", err)
			}
			if i == 0 {
				base[name] = p[name]
			} else if slices.ContainsFunc(others, func(o profile.Point) bool { return o[name] == p[name] }) || p[name] == base[name] {
				return nil, fmt.Errorf("--vary %s: %d is there twice", text, p[name])
			} else {
				others = append(others, p)
			}
		}
	}
	for _, o := range others {
		p := profile.Point{}
		for name, n := range base {
			p[name] = n
		}
		for name, n := range o {
			p[name] = n
		}
		points = append(points, p)
	}
	if len(points) > maxSizes {
		return nil, fmt.Errorf("--vary asks for %d runs; two or three values of each quantity are enough", len(points))
	}
	return points, nil
}

// ownNames refuses another word for a setting: what is recorded as bs, only
// snug predict could be asked for.
func ownNames(vary []string) error {
	for _, text := range vary {
		name, values, _ := strings.Cut(text, "=")
		if own := ownName(name); own != name {
			return fmt.Errorf("--vary %s: call it %s, which estimate, max-batch and optimize know: --vary %[2]s=%s, and {%[2]s} in the command", text, own, values)
		}
	}
	return nil
}

// shortNames are what people call settings in their own scripts, beyond what
// libraries do.
var shortNames = map[string]string{
	"bs": "batch", "bsz": "batch", "mbs": "batch", "b": "batch", "batchsize": "batch", "BATCH": "batch",
	"len": "seq", "length": "seq", "seqlen": "seq", "SEQ": "seq",
}

// ownName is what snug calls a quantity: batch for bs and batch_size.
func ownName(name string) string {
	if own, ok := shortNames[name]; ok {
		return own
	}
	if isSetting(name) {
		return name
	}
	for _, b := range config.Spoken([]string{"--" + name, "2"}) {
		return b.Setting
	}
	return name
}

// twoSizes refuses what would be run at one size only: no profile comes of it.
func twoSizes(vary []string, sizes []profile.Point) error {
	if len(vary) == 0 || len(sizes) > 1 {
		return nil
	}
	name, _, _ := strings.Cut(vary[0], "=")
	n := sizes[0][name]
	return fmt.Errorf("--vary %s=%d is one size, and a profile takes two: name a second, as in --vary %s=%d,%d", name, n, name, n, n+max(1, n/2))
}

// hole is what looks like a place for a value: {bs} as a word or behind an =.
var hole = pattern.New(`^(?:.*=)?\{([A-Za-z_][A-Za-z0-9_-]*)\}$`)

// checkHoles refuses a place in the command that no --vary fills.
func checkHoles(words []string, vary []string, at profile.Point) error {
	for _, w := range words {
		name := ""
		if m := hole.Find(w); m != nil {
			name = m[1]
		} else if w = strings.ReplaceAll(w, "${", ""); strings.Contains(w, "{batch}") { // within the text of sh -c
			name = "batch"
		}
		if _, filled := at[name]; name == "" || filled {
			continue
		}
		own := ownName(name)
		_, given := at[own]
		switch {
		case given:
			return fmt.Errorf("the command has {%s}, which --vary does not give; write {%s} there", name, own)
		case own != name:
			return fmt.Errorf("the command has {%s}, and nothing says its values; write {%s} there, and --vary %[2]s=2,3", name, own)
		case len(vary) == 0:
			return fmt.Errorf("the command has {%s}, and nothing says its values: --vary %s=2,3", name, name)
		}
		return fmt.Errorf("the command has {%s}, which --vary does not give; write {%s} there, or add --vary %s=2,3", name, at.Names()[0], name)
	}
	return nil
}
