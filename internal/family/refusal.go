// SPDX-License-Identifier: Apache-2.0

package family

import "fmt"

// Refusal is the error for a run that a family does not support, because the original does not support it either or
// its behavior has not been studied.
type Refusal struct {
	Field string // the field at fault: "model.head"
	Why   string // what is not supported
}

// Error returns what is not supported.
func (r *Refusal) Error() string { return r.Why }

func refuse(field, format string, args ...any) *Refusal {
	return &Refusal{field, fmt.Sprintf(format, args...)}
}
