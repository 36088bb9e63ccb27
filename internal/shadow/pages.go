// SPDX-License-Identifier: Apache-2.0

package shadow

// pages is room for the objects that a run makes by the hundred thousand. They
// come from pages of many, which is several times faster than one by one; a page
// goes when nothing points into it any more.
type pages struct {
	tensors  []Tensor
	nodes    []node
	storages []storage
	saves    []saved
}

const pageSize = 128 // objects

// take is the next object of a page, making a new page when it is used up.
func take[T any](page *[]T) *T {
	if len(*page) == 0 {
		*page = make([]T, pageSize)
	}
	t := &(*page)[0]
	*page = (*page)[1:]
	return t
}
