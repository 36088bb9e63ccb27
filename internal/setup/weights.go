// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"io"
	"path/filepath"
	"slices"

	"snug/internal/safetensors"
)

// weights reads the headers of the weight files next to a config. It returns nil if none can be read, because they
// only confirm the config.
func (from Source) weights(folder string) *safetensors.Header {
	if h, _ := from.header(filepath.Join(folder, "model.safetensors")); h != nil {
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
	return from.headers(folder, shards)
}

// maxHeaders limits the total size of the headers of a model in many files.
const maxHeaders = 4 * safetensors.MaxHeader

// headers returns the combined headers of some files; nil if any cannot be read.
func (from Source) headers(folder string, names []string) *safetensors.Header {
	sum, left := &safetensors.Header{Types: map[string]int{}}, int64(maxHeaders)
	for _, name := range names {
		h, bytes := from.header(filepath.Join(folder, filepath.Base(name)))
		if left -= bytes; h == nil || left < 0 {
			return nil
		}
		sum.Add(h)
	}
	return sum
}

// header reads the header of one file, and returns its length in bytes.
func (from Source) header(name string) (*safetensors.Header, int64) {
	f, err := from.open(name)
	if err != nil {
		return nil, 0
	}
	defer f.Close()
	in := &io.LimitedReader{R: f, N: safetensors.MaxHeader + 8}
	h, err := safetensors.ReadHeader(in)
	if err != nil {
		return nil, 0
	}
	return h, safetensors.MaxHeader + 8 - in.N
}
