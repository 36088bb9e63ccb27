// SPDX-License-Identifier: Apache-2.0

// Package safetensors reads the header of a .safetensors file: the names, types and shapes of its
// tensors. It never reads the values.
//
// The file begins with the length of the header, eight bytes, little-endian. The header is a JSON object
// that maps each tensor's name to its type, its shape and the offsets of its data.
package safetensors

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
)

// MaxHeader limits the length of a header. The format's own library allows 100 MB; the longest headers of published
// models are about 2 MB long, for 20,000 tensors.
const MaxHeader = 16 << 20

// Header contains the totals over a file's tensors.
type Header struct {
	Params int            // number of elements in all tensors
	Types  map[string]int // number of elements by type, such as "BF16"
}

// bits is the number of bits per element, by type.
var bits = map[string]uint64{
	"F64": 64, "I64": 64, "U64": 64, "F32": 32, "I32": 32, "U32": 32, "F16": 16, "BF16": 16, "I16": 16, "U16": 16,
	"F8_E4M3": 8, "F8_E5M2": 8, "I8": 8, "U8": 8, "BOOL": 8,
}

type tensor struct {
	DType   string   `json:"dtype"`
	Shape   []uint64 `json:"shape"`
	Offsets []uint64 `json:"data_offsets"`
}

// ReadHeader reads the beginning of a file.
func ReadHeader(r io.Reader) (*Header, error) {
	var length [8]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, errors.New("not a safetensors file: it is shorter than the eight bytes that a header starts with")
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n < 2 || n > MaxHeader {
		return nil, fmt.Errorf("not a safetensors file: its header has %d bytes, and %d is the limit", n, MaxHeader)
	}
	body := &io.LimitedReader{R: r, N: int64(n)}
	h, err := parse(json.NewDecoder(body))
	if _, short := io.Copy(io.Discard, body); short == nil && body.N > 0 {
		return nil, errors.New("the safetensors header is truncated")
	}
	return h, err
}

// parse counts one tensor at a time, so that a long header needs no more memory than a short one.
func parse(in *json.Decoder) (*Header, error) {
	if t, err := in.Token(); err != nil || t != json.Delim('{') {
		return nil, notJSON(err)
	}
	h := &Header{Types: map[string]int{}}
	for in.More() {
		name, err := in.Token()
		if err != nil {
			return nil, notJSON(err)
		}
		if err := h.tensor(fmt.Sprint(name), in); err != nil {
			return nil, err
		}
	}
	if _, err := in.Token(); err != nil {
		return nil, notJSON(err)
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("the safetensors header has extra data after its JSON")
	}
	return h, nil
}

// tensor counts the tensor with the given name.
func (h *Header) tensor(name string, in *json.Decoder) error {
	var text json.RawMessage
	if err := in.Decode(&text); err != nil {
		return notJSON(err)
	}
	if name == "__metadata__" {
		return nil
	}
	var t tensor
	if err := json.Unmarshal(text, &t); err != nil {
		return fmt.Errorf("tensor %q in the safetensors header: %w", name, err)
	}
	n, err := t.elements()
	if err != nil {
		return fmt.Errorf("tensor %q in the safetensors header: %w", name, err)
	}
	if n > math.MaxInt64-h.Params {
		return errors.New("the safetensors header has more elements than are possible")
	}
	h.Params += n
	h.Types[t.DType] += n
	return nil
}

func notJSON(err error) error {
	if err == nil {
		return errors.New("the safetensors header is not a JSON object")
	}
	return fmt.Errorf("the safetensors header is not JSON: %w", err)
}

// elements returns the number of elements, or an error if it does not match their size in bytes.
func (t *tensor) elements() (int, error) {
	size, ok := bits[t.DType]
	if !ok {
		return 0, fmt.Errorf("unknown type %q", t.DType)
	}
	if len(t.Offsets) != 2 || t.Offsets[1] < t.Offsets[0] || t.Offsets[1] > 1<<56 {
		return 0, fmt.Errorf("data_offsets are %v", t.Offsets)
	}
	n := uint64(1)
	for _, d := range t.Shape {
		if d > 0 && n > (1<<56)/d {
			return 0, fmt.Errorf("shape %v is too large", t.Shape)
		}
		n *= d
	}
	if n*size != 8*(t.Offsets[1]-t.Offsets[0]) {
		return 0, fmt.Errorf("shape %v does not match its %d bytes", t.Shape, t.Offsets[1]-t.Offsets[0])
	}
	return int(n), nil
}

// Add adds the counts of another file of the same model.
func (h *Header) Add(more *Header) {
	h.Params += more.Params
	for k, n := range more.Types {
		h.Types[k] += n
	}
}

// Main returns the type of most elements.
func (h *Header) Main() string {
	best, most := "", 0
	for k, n := range h.Types {
		if n > most || n == most && k < best {
			best, most = k, n
		}
	}
	return best
}

// Shards returns the files that an index (model.safetensors.index.json) lists.
func Shards(index []byte) ([]string, error) {
	var x struct {
		WeightMap map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(index, &x); err != nil {
		return nil, fmt.Errorf("the safetensors index is not JSON: %w", err)
	}
	seen := map[string]bool{}
	var out []string
	for _, file := range x.WeightMap {
		if !seen[file] {
			seen[file] = true
			out = append(out, file)
		}
	}
	return out, nil
}
