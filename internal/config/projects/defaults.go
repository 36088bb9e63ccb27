// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"snug/internal/config/doc"
	"snug/internal/config/systems"
	"snug/internal/config/tree"
)

// Default returns a key's default in a setup's terms; nil if it has none.
func Default(k *systems.Key, world int) any {
	if k.Default == "" {
		return nil
	}
	kind, data := doc.Scalar(k.Default)
	v, err := valueReader{k}.read(tree.Tree{}, tree.Place{Value: doc.Value{Kind: kind, Data: data, Text: k.Default}})
	if err != nil {
		return nil
	}
	switch v := v.(type) {
	case unknownWord:
		return nil
	case string:
		if v == Auto || v == "" {
			return nil
		}
	case int:
		if k.OverGPUs && k.Setting != "effective" {
			return max(v/max(world, 1), 1)
		}
	}
	return v
}
