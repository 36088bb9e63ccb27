// SPDX-License-Identifier: Apache-2.0

package setup

import "maps"

// WithCurrentNames returns the fields of a setup under their current names. Published collections of runs still use
// the earlier name packed for 4-bit weights.
func WithCurrentNames(fields map[string]any) map[string]any {
	packed, is := fields["packed"].(map[string]any)
	if !is || fields["quantization"] != nil {
		return fields
	}
	out, q := maps.Clone(fields), map[string]any{}
	for name, value := range packed {
		switch name {
		case "raised":
			name = "prepare"
		case "lowered":
			name = "cast_back"
		}
		q[name] = value
	}
	delete(out, "packed")
	out["quantization"] = q
	return out
}
