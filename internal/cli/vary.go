// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"snug/internal/profile"
	"snug/internal/record"
)

// maxSizes limits the number of runs.
const maxSizes = 16

// varied returns the sizes of --vary: the first value of each quantity together, then every other value with the
// other quantities at their first value. Without --vary it returns one size without quantities, for the unchanged
// command.
func varied(vary []string) ([]profile.Point, error) {
	first := profile.Point{}
	var others []profile.Point
	for _, text := range vary {
		values, err := parseVary(text)
		if err == nil {
			err = checkName(text)
		}
		if err != nil {
			return nil, err
		}
		name := values[0].Names()[0]
		if _, twice := first[name]; twice {
			return nil, fmt.Errorf("--vary gives %s twice; combine its values: %s=2,3", name, name)
		}
		first[name] = values[0][name]
		others = append(others, values[1:]...)
	}
	sizes := []profile.Point{first}
	for _, o := range others {
		p := maps.Clone(first)
		maps.Copy(p, o)
		sizes = append(sizes, p)
	}
	if len(sizes) > maxSizes {
		return nil, fmt.Errorf("--vary asks for %d runs; two or three values for each quantity are enough", len(sizes))
	}
	return sizes, nil
}

// parseVary returns the sizes in one --vary, such as batch=2,3.
func parseVary(text string) ([]profile.Point, error) {
	name, list, ok := strings.Cut(text, "=")
	if !ok {
		return nil, fmt.Errorf("--vary %s: write it like batch=2,3", text)
	}
	var out []profile.Point
	for value := range strings.SplitSeq(list, ",") {
		p, err := profile.ParsePoint(name + "=" + value)
		if err != nil {
			return nil, fmt.Errorf("--vary: %w", err)
		}
		if slices.ContainsFunc(out, func(o profile.Point) bool { return o[name] == p[name] }) {
			return nil, fmt.Errorf("--vary %s: %d appears twice", text, p[name])
		}
		out = append(out, p)
	}
	return out, nil
}

// checkName returns an error for another name of a setting, because a profile recorded with bs, for example,
// could be used only by snug predict.
func checkName(text string) error {
	name, values, _ := strings.Cut(text, "=")
	if own := record.SettingName(name); own != name {
		return fmt.Errorf("--vary %s: use the name %s, as estimate, max-batch and optimize do: --vary %[2]s=%s, and {%[2]s} in the command", text, own, values)
	}
	return nil
}

// checkTwoSizes returns an error for --vary with a single size: a profile needs two.
func checkTwoSizes(vary []string, sizes []profile.Point) error {
	if len(vary) == 0 || len(sizes) > 1 {
		return nil
	}
	name, _, _ := strings.Cut(vary[0], "=")
	n := sizes[0][name]
	return fmt.Errorf("--vary %s=%d is only one size, and a profile needs two; add a second, like --vary %s=%d,%d", name, n, name, n, n+max(1, n/2))
}
