// SPDX-License-Identifier: Apache-2.0

package shadow

import "strings"

// Form is the type and shape of a tensor, and the op that made it.
type Form struct {
	Type DType  // type of the elements
	Size Shape  // as created; views may have another shape
	Op   string // "" if no op made it
}

// String returns the form as people write it: [8, 1024, 768] float32.
func (f Form) String() string {
	if f.Type == None {
		return ""
	}
	return strings.ReplaceAll(f.Size.String(), " ", ", ") + " " + f.Type.String()
}

// Form returns the form of the tensor in an allocation, as recorded by described, an identical run. It returns
// false if the allocation is not a tensor.
func (w *World) Form(id uint32, described *World) (Form, bool) {
	if w.origin != nil {
		id = w.origin[id]
	}
	if at := described.Tags[id].Form; at > 0 {
		return described.forms[at-1], true
	}
	return Form{}, false
}

// describe records the form of a new tensor.
func (w *World) describe(t *Tensor) {
	if t.mem == nil {
		return
	}
	f := Form{t.dtype, t.size, w.op}
	at, known := w.formOf[f]
	if !known {
		if w.formOf == nil {
			w.formOf = map[Form]uint32{}
		}
		w.forms = append(w.forms, f)
		at = uint32(len(w.forms))
		w.formOf[f] = at
	}
	w.Tags[t.mem.id].Form = at
}
