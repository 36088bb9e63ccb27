// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"strings"

	"snug/internal/config/doc"
	"snug/internal/config/systems"
)

// beside returns the binding of a key's Beside key, which is next to it in the file.
func (s *Source) beside(k *systems.Key, p doc.Path) ([]Bound, error) {
	if k.Beside == nil || len(p) < 2 {
		return nil, nil
	}
	b, err := s.bound(k.Beside, PathBeside(p, k.Beside))
	if b == nil || err != nil {
		return nil, err
	}
	return []Bound{*b}, nil
}

// PathBeside returns the path of the key for an optimizer's kernel.
func PathBeside(p doc.Path, kernel *systems.Key) doc.Path {
	return p[:len(p)-1].Join(strings.Split(kernel.Path, ".")...)
}
