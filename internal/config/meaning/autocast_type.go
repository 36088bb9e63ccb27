// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"fmt"
	"strings"

	"snug/internal/config/doc"
)

// castsToDefault returns the warning that a switch such as --amp turns on autocast without naming its type, and
// that the program that would show the type is missing.
func (r *Run) castsToDefault(run map[string]any) []string {
	if r.Primary == nil || r.Program != nil || r.Primary.Tree.Layers[0].Doc.Format() == doc.Python || run["precision"] != "amp-fp16" {
		return nil
	}
	for _, b := range r.BindingsOf("precision") {
		if name := strings.TrimPrefix(b.Key.Path, "**."); b.Key.IsCommonName() && b.Value == "amp-fp16" && (name == "amp" || name == "use_amp") {
			return []string{fmt.Sprintf("%s: %s is read as float16, autocast's default; if the program casts to bfloat16, give --precision amp-bf16", b.Where(), b.Path)}
		}
	}
	return nil
}
