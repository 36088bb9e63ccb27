// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"runtime"
	"testing"

	"snug/internal/stream"
)

// allocated is how many bytes f asks the heap for, given back or not.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// packed is a file with a right checksum around what stands before the deflating.
func packed(t testing.TB, text []byte) []byte {
	t.Helper()
	out := bytes.NewBufferString(fileMagic)
	out.Write([]byte{fileVersion, 0, 0, 0, 0, 0, 0, 0})
	z, err := flate.NewWriter(out, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	file := out.Bytes()
	binary.LittleEndian.PutUint32(file[12:], checksum(file[bodyAt:]))
	return file
}

const bombHeader = `{"torch":"2.11","options":{},"quantities":["batch"]}`

// opening is a body up to the columns of its one variant: a formula of 512 bytes,
// and queues.
func opening(queues int) *encoder {
	e := &encoder{}
	e.bytes([]byte(bombHeader))
	e.uint(1)
	e.formula(&formula{terms: []term{{512, 0}}})
	e.uint(1)
	e.int(2)
	e.bytes([]byte("[]"))
	e.uint(uint64(queues))
	return e
}

// repeating is text with a last byte that comes n more times, and what follows it.
func repeating(text []byte, n uint64, after []byte) []byte {
	e := &encoder{}
	e.bytes(text)
	e.uint(n)
	e.uint(1)
	e.bytes(after)
	e.uint(0)
	return e.out
}

// bombs are files of a few hundred bytes that speak of hundreds of millions.
func bombs(t testing.TB) map[string][]byte {
	const many = 400 << 20
	events := opening(1)
	events.uint(0)    // the queue
	events.uint(0)    // before
	events.uint(many) // made
	events.uint(many) // the kinds
	events.out = append(events.out, byte(stream.Alloc))
	queues := opening(many)
	queues.uint(7)
	formulas := &encoder{}
	formulas.bytes([]byte(bombHeader))
	formulas.uint(many / 5)
	formulas.uint(0)
	segments := &encoder{}
	segments.bytes([]byte(bombHeader))
	segments.uint(0)
	segments.uint(1)
	segments.int(2)
	json := append([]byte("["), bytes.Repeat([]byte("{},"), 1<<22)...)
	segments.bytes(append(json, "{}]"...))
	return map[string][]byte{
		"events":   packed(t, repeating(events.out, many-1, nil)),
		"queues":   packed(t, repeating(queues.out, many-1, nil)),
		"formulas": packed(t, repeating(formulas.out, many, nil)),
		"segments": packed(t, withoutRepeats(segments.out)),
		"zeros":    packed(t, make([]byte, 300<<20)),
	}
}

// A file that speaks of more than it holds is refused before anything of that size
// is asked for.
func TestFileOfFalseCounts(t *testing.T) {
	for name, file := range bombs(t) {
		var err error
		took := allocated(func() { _, err = Read(bytes.NewReader(file)) })
		if most := uint64(32<<20 + 8*bodyLimit(len(file))); err == nil || took > most {
			t.Errorf("%s: %d bytes of file take %d MiB (most %d), %v", name, len(file), took>>20, most>>20, err)
		}
	}
}
