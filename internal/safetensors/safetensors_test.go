// SPDX-License-Identifier: Apache-2.0

package safetensors

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// file returns a file with the given header.
func file(header string) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
}

func TestReadHeader(t *testing.T) {
	got, err := ReadHeader(bytes.NewReader(file(`{"__metadata__":{"format":"pt"},
		"a":{"dtype":"BF16","shape":[3,4],"data_offsets":[0,24]},
		"b":{"dtype":"F32","shape":[],"data_offsets":[24,28]},
		"c":{"dtype":"F32","shape":[0,7],"data_offsets":[28,28]}}`)))
	if err != nil {
		t.Fatal(err)
	}
	want := &Header{Params: 13, Types: map[string]int{"BF16": 12, "F32": 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.Main() != "BF16" {
		t.Errorf("Main() = %q", got.Main())
	}
}

func TestBadHeaders(t *testing.T) {
	tests := map[string]struct {
		data []byte
		want string
	}{
		"empty":     {nil, "shorter"},
		"huge":      {bytes.Repeat([]byte{255}, 16), "its header has"},
		"cut off":   {file(`{"a":{"dtype"`)[:12], "truncated"},
		"not JSON":  {file(`{"a":`), "not JSON"},
		"a list":    {file(`[1,2,3]`), "not a JSON object"},
		"more":      {file(`{} {}`), "extra data after its JSON"},
		"shorter":   {append(binary.LittleEndian.AppendUint64(nil, 100), "{}"...), "truncated"},
		"type":      {file(`{"a":{"dtype":"F7","shape":[1],"data_offsets":[0,4]}}`), `type "F7"`},
		"offsets":   {file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}}`), "data_offsets"},
		"too large": {file(`{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}}`), "too large"},
		"too short": {file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}`), "does not match"},
		"negative":  {file(`{"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,4]}}`), "cannot unmarshal"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := ReadHeader(bytes.NewReader(tt.data)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func FuzzReadHeader(f *testing.F) {
	f.Add(file(`{"a":{"dtype":"BF16","shape":[3,4],"data_offsets":[0,24]}}`))
	f.Add(file(`{}`))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := ReadHeader(bytes.NewReader(data))
		if err != nil {
			return
		}
		sum := 0
		for _, n := range h.Types {
			sum += n
		}
		if sum != h.Params || h.Params < 0 {
			t.Errorf("%d elements by type, %d in total", sum, h.Params)
		}
	})
}
