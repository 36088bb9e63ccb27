// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"

	"snug/internal/pattern"
)

// Datasets are saved with index files: a NumPy array (.npy, one-dimensional, of integers), or Megatron's .idx, whose
// header is followed by the length of each sequence.
const (
	numpyMagic    = "\x93NUMPY"
	megatronMagic = "MMIDIDX\x00\x00"
)

var (
	numpyType  = pattern.New(`'descr': *'([<|>=])([iu])([1248])'`)
	numpyShape = pattern.New(`'shape': *\((\d+),\)`)
)

// numpy reads a .npy file (numpy/lib/format.py, versions 1 to 3).
func (d *dataFile) numpy(in *bufio.Reader) error {
	var start [10]byte
	if _, err := io.ReadFull(in, start[:]); err != nil {
		return errShort
	}
	size := uint32(binary.LittleEndian.Uint16(start[8:]))
	if start[6] > 1 {
		var rest [2]byte
		if _, err := io.ReadFull(in, rest[:]); err != nil {
			return errShort
		}
		size |= uint32(binary.LittleEndian.Uint16(rest[:])) << 16
	}
	if size > 1<<16 {
		return errors.New("its header is too long for an array")
	}
	head := make([]byte, size)
	if _, err := io.ReadFull(in, head); err != nil {
		return errShort
	}
	kind, shape := numpyType.Regexp().FindSubmatch(head), numpyShape.Regexp().FindSubmatch(head)
	if kind == nil || shape == nil {
		return fmt.Errorf("it is not a list of whole numbers, but %.80q; save the lengths as a one-dimensional int32 or int64 array", head)
	}
	n, err := strconv.Atoi(string(shape[1]))
	if err != nil || n > maxSamples {
		return Wrong("it has %s samples, but at most %d are read; give fewer", shape[1], maxSamples)
	}
	return d.numbers(in, n, int(kind[3][0]-'0'), kind[2][0] == 'i', kind[1][0] == '>')
}

var errShort = errors.New("it ends too early")

// numbers reads n integers of size bytes each.
func (d *dataFile) numbers(in io.Reader, n, size int, signed, big bool) error {
	buf := make([]byte, size)
	for i := range n {
		if _, err := io.ReadFull(in, buf); err != nil {
			return errShort
		}
		var v uint64
		for k := range size {
			at := k
			if !big {
				at = size - 1 - k
			}
			v = v<<8 | uint64(buf[at])
		}
		f := float64(v)
		if shift := 64 - 8*size; signed {
			f = float64(int64(v<<shift) >> shift)
		}
		if err := d.number(f); err != nil {
			return fmt.Errorf("element %d %w", i, err)
		}
	}
	return nil
}

// megatron reads the lengths in an .idx file: magic, version, token type, number of sequences, number of documents,
// then an int32 for each sequence (Megatron-LM, core/datasets/indexed_dataset.py).
func (d *dataFile) megatron(in io.Reader) error {
	var head struct {
		Magic     [9]byte
		Version   uint64
		Type      uint8
		Sequences uint64
		Documents uint64
	}
	if err := binary.Read(in, binary.LittleEndian, &head); err != nil {
		return errShort
	}
	if head.Version != 1 || head.Sequences > maxSamples {
		return Wrong("it is version %d with %d sequences; only version 1 with at most %d sequences is supported", head.Version, head.Sequences, maxSamples)
	}
	return d.numbers(in, int(head.Sequences), 4, true, false)
}
