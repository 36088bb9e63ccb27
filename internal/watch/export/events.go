// SPDX-License-Identifier: Apache-2.0

package export

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"
)

// TensorBoard reads files of records, each framed like this (tensorflow/core/lib/io/record_writer.h):
//
//	uint64  length of the data, little endian
//	uint32  masked CRC of the length
//	byte    data[length]
//	uint32  masked CRC of the data
//
// The data is a Protocol Buffers message, tensorflow.Event (tensorflow/core/util/event.proto); only its fields
// wall_time (1), step (2), file_version (3) and summary (5) are written. A summary is a list of values (1) with a tag
// (1) and a simple_value (2).

// eventFile writes an event file in this format.
type eventFile struct{ out io.Writer }

// scalar is one value in a summary.
type scalar struct {
	tag   string
	value float64
}

// begin writes the first record, which contains the format version.
func (f eventFile) begin(wall float64) error {
	return f.record(appendText(appendDouble(nil, 1, wall), 3, "brain.Event:2"))
}

// add writes the scalars of one step.
func (f eventFile) add(wall float64, step int64, scalars []scalar) error {
	event := appendDouble(nil, 1, wall)
	event = appendVarint(event, 2, uint64(step))
	var summary []byte
	for _, s := range scalars {
		value := appendText(nil, 1, s.tag)
		value = appendFloat(value, 2, float32(s.value))
		summary = appendText(summary, 1, string(value))
	}
	return f.record(appendText(event, 5, string(summary)))
}

func (f eventFile) record(data []byte) error {
	var head [12]byte
	binary.LittleEndian.PutUint64(head[:8], uint64(len(data)))
	binary.LittleEndian.PutUint32(head[8:], masked(head[:8]))
	frame := append(head[:], data...)
	frame = binary.LittleEndian.AppendUint32(frame, masked(data))
	_, err := f.out.Write(frame)
	return err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked returns the CRC of data, rotated and offset, because the CRC of data that contains CRCs is otherwise weak.
func masked(data []byte) uint32 {
	crc := crc32.Checksum(data, castagnoli)
	return (crc>>15 | crc<<17) + 0xa282ead8
}

// The Protocol Buffers wire types.
const (
	varint  = 0
	fixed64 = 1
	framed  = 2
	fixed32 = 5
)

func appendVarint(b []byte, field int, n uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(field<<3|varint)), n)
}

func appendDouble(b []byte, field int, x float64) []byte {
	return binary.LittleEndian.AppendUint64(binary.AppendUvarint(b, uint64(field<<3|fixed64)), math.Float64bits(x))
}

func appendFloat(b []byte, field int, x float32) []byte {
	return binary.LittleEndian.AppendUint32(binary.AppendUvarint(b, uint64(field<<3|fixed32)), math.Float32bits(x))
}

func appendText(b []byte, field int, s string) []byte {
	b = binary.AppendUvarint(b, uint64(field<<3|framed))
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}
