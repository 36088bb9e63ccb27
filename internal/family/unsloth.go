// SPDX-License-Identifier: Apache-2.0

package family

import (
	"slices"
	"strings"
)

// The parts of a model that fms-acceleration replaces with Unsloth's kernels (fms_acceleration_foak/models, 0.6): the
// rotation of queries and keys, the norms, and the cross entropy.

// unsloth reports whether a part of the model uses Unsloth's kernels.
func (r Run) unsloth(part string) bool { return slices.Contains(r.Unsloth, part) }

// checkUnsloth returns an error if there are no Unsloth kernels for the model, or if Liger's kernels replace the
// same part.
func (r Run) checkUnsloth(model string, f Facts) error {
	for _, part := range r.Unsloth {
		if r.liger(part) {
			return refuse("unsloth", "%s is also in liger; remove it from one of them", part)
		}
	}
	switch {
	case f.Unsloth:
		return nil
	case len(r.Unsloth) > 0:
		return refuse("unsloth", "Unsloth's kernels are not simulated for %s; remove this setting, or use one of %s", model, r.unslothModels())
	case r.Loss == "unsloth":
		return refuse("loss", "Unsloth's loss is not simulated for %s; remove this setting, or use one of %s", model, r.unslothModels())
	}
	return nil
}

func (r Run) unslothModels() string {
	return strings.Join(Types(func(f Facts) bool { return f.Unsloth }), ", ")
}
