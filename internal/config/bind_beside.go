// SPDX-License-Identifier: Apache-2.0

package config

import (
	"snug/internal/config/doc"
	"strings"
)

// beside binds the key that stands, or would stand, beside another.
func (s *source) beside(k *Key, p doc.Path) ([]bound, error) {
	if k.Beside == nil || len(p) < 2 {
		return nil, nil
	}
	b, err := s.bound(k.Beside, besidePath(p, k.Beside))
	if b == nil || err != nil {
		return nil, err
	}
	return []bound{*b}, nil
}

// besidePath is where the kernel of an optimizer stands.
func besidePath(p doc.Path, kernel *Key) doc.Path {
	return p[:len(p)-1].Join(strings.Split(kernel.Path, ".")...)
}
