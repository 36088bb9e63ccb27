// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"fmt"

	"snug/internal/setup"
)

// NoModel is what is missing if no file names a model.
const NoModel = "no file names the model; give --model NAME, or model: {name: ...} in snug.yaml; for custom code, snug profile -- <your command>"

// noModel says what is missing if the files give no model that is known: one that they name in another way, or any.
func (r *Run) noModel() string {
	for _, b := range r.BindingsOf("model") {
		if b.Unknown == "" {
			continue
		}
		if what := setup.UnsimulatedModel(b.Unknown); what != "" {
			return fmt.Sprintf("%s: %s is %s, which is not simulated; measure the run: snug profile -- <your command>", b.Where(), b.Unknown, what)
		}
		return fmt.Sprintf("%s: %s is not a model that snug knows; give one like it with --model NAME, or measure the run: snug profile -- <your command>", b.Where(), b.Unknown)
	}
	return NoModel
}
