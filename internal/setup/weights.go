// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"path/filepath"
	"slices"

	"snug/internal/safetensors"
)

// weights is what the files beside a config say about the model's weights, nil
// where there are none that can be read: they only confirm what the config says.
func (from Source) weights(folder string) *safetensors.Header {
	if h := from.header(filepath.Join(folder, "model.safetensors")); h != nil {
		return h
	}
	index, err := from.read(filepath.Join(folder, "model.safetensors.index.json"))
	if err != nil {
		return nil
	}
	shards, err := safetensors.Shards(index)
	if err != nil || len(shards) == 0 {
		return nil
	}
	slices.Sort(shards)
	sum := &safetensors.Header{Types: map[string]int{}}
	for _, name := range shards {
		h := from.header(filepath.Join(folder, filepath.Base(name)))
		if h == nil {
			return nil
		}
		sum.Add(h)
	}
	return sum
}

func (from Source) header(name string) *safetensors.Header {
	f, err := from.open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	h, err := safetensors.ReadHeader(f)
	if err != nil {
		return nil
	}
	return h
}
