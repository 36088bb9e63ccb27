// SPDX-License-Identifier: Apache-2.0

package meaning

import "fmt"

// OwnClass returns a sentence about the model class, defined in the project, that the run's program trains; "" if it
// trains a library's.
func (r *Run) OwnClass() string {
	if r.Primary == nil {
		return ""
	}
	for _, p := range r.ExecutedPrograms(r.Primary) {
		if class, where := r.OwnModelClass(p); class != "" {
			return fmt.Sprintf("%s: %s is a model class that the project defines, and its code cannot be followed", where, class)
		}
	}
	return ""
}
