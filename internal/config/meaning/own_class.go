// SPDX-License-Identifier: Apache-2.0

package meaning

import "fmt"

// OwnClass returns the model class of the project's own that the run's program trains, with its place; "" if there is none.
func (r *Run) OwnClass() string {
	if r.Primary == nil {
		return ""
	}
	for _, p := range r.ExecutedPrograms(r.Primary) {
		if class, where := r.OwnModelClass(p); class != "" {
			return fmt.Sprintf("%s: %s is a model class of the project's own, and its code cannot be followed", where, class)
		}
	}
	return ""
}
