// SPDX-License-Identifier: Apache-2.0

package family

import "fmt"

// Refusal means that a family does not support a run: either the original does not, or its behaviour has
// not been studied.
type Refusal struct {
	Field string // the field that asks for it: "model.head"
	Why   string // what is not supported
}

func (r *Refusal) Error() string { return r.Why }

func refuse(field, format string, args ...any) *Refusal {
	return &Refusal{field, fmt.Sprintf(format, args...)}
}
