// SPDX-License-Identifier: Apache-2.0

package setup

import "strings"

// Put sets a field of a setup that has not been decoded yet, such as "batch" or "dist.world". It creates the object
// around the field if necessary.
func Put(fields map[string]any, field string, v any) {
	outer, inner, nested := strings.Cut(field, ".")
	if !nested {
		fields[field] = v
		return
	}
	in, _ := fields[outer].(map[string]any)
	if in == nil {
		in = map[string]any{}
		fields[outer] = in
	}
	in[inner] = v
}
