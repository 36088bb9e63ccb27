// SPDX-License-Identifier: Apache-2.0

package family

import "fmt"

// Refusal is that a family has no such run: its original would not do it either,
// or nobody has looked at what it does.
type Refusal struct {
	Field string // of the setup that asks for it: "model.head"
	Why   string // what is not supported
}

func (r *Refusal) Error() string { return r.Why }

func refuse(field, format string, args ...any) *Refusal {
	return &Refusal{field, fmt.Sprintf(format, args...)}
}
