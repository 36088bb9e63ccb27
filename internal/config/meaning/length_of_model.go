// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"fmt"

	"snug/internal/config/doc"
	"snug/internal/setup"
)

// Without a length in its file, a trainer such as ms-swift accepts samples up to the model's own limit. That limit is
// then the length of the longest sample, as another trainer's default would be.

// lengthOfModel returns the model's limit, if it applies because no file sets the length; otherwise 0.
func (r *Run) lengthOfModel() int {
	if !r.Trainer().LengthOfModel || r.ValueOrDefault("seq") != nil || len(r.BindingsOf("seq")) > 0 {
		return 0 // a bound length without a value is computed at run time
	}
	name, _ := r.modelInFile().(string)
	return setup.LongestOf(r.ModelName(name))
}

// openLength lists the length as missing if a file sets it to null: the samples then have their own lengths, which are
// in the data.
func (r *Run) openLength(fields map[string]any) []Missing {
	if fields["seq"] != nil || fields["lengths"] != nil {
		return nil
	}
	for _, b := range r.BindingsOf("seq") {
		if b.Place.Value.Kind == doc.Null {
			return []Missing{{"seq", fmt.Sprintf("%s: %s is null, so samples keep their own lengths, which are in the data; give the longest with --seq N, or all with --lengths FILE", b.Where(), b.Path)}}
		}
	}
	return nil
}

// longestCounted returns the note that samples are counted as long as the model accepts.
func (r *Run) longestCounted(run map[string]any) []string {
	longest := r.lengthOfModel()
	if longest == 0 || run["seq"] != float64(longest) {
		return nil
	}
	return []string{fmt.Sprintf("%s: no length is set, so %s accepts samples up to the model's limit; %d tokens are counted; if your longest sample is shorter, give it with --seq", r.Primary.File, r.Trainer().Title, longest)}
}
