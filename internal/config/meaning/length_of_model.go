// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"fmt"

	"snug/internal/config/doc"
	"snug/internal/setup"
)

// If the files set no length, samples keep the lengths that they have in the data.

// lengthOfModel returns the model's limit, if it applies because no file sets the length; otherwise 0.
func (r *Run) lengthOfModel() int {
	if !r.Trainer().LengthOfModel || r.ValueOrDefault("seq") != nil || len(r.BindingsOf("seq")) > 0 {
		return 0 // a bound length without a value is computed at run time
	}
	name, _ := r.modelInFile().(string)
	return setup.LongestOf(r.ModelName(name))
}

// openLength lists the length as missing if a file sets it to null, or if the trainer's default is the model's limit,
// which says little about the samples.
func (r *Run) openLength(fields map[string]any) []Missing {
	const give = "give the longest with --seq N, or all with --lengths FILE"
	if fields["seq"] != nil || fields["lengths"] != nil {
		return nil
	}
	for _, b := range r.BindingsOf("seq") {
		if b.Place.Value.Kind == doc.Null {
			return []Missing{{"seq", fmt.Sprintf("%s: %s is null, so samples keep their own lengths, which are in the data; %s", b.Where(), b.Path, give)}}
		}
	}
	if longest := r.lengthOfModel(); longest > 0 {
		return []Missing{{"seq", fmt.Sprintf("%s: no length is set, so %s accepts samples up to the model's limit of %d tokens; %s", r.Primary.File, r.Trainer().Title, longest, give)}}
	}
	return nil
}
