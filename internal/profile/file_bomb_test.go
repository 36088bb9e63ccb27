// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"snug/internal/stream"
)

// allocated returns the total number of bytes that f allocates on the heap, freed or not.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// packed compresses text and returns it as a profile file with a valid header and checksum.
func packed(t testing.TB, text []byte) []byte {
	t.Helper()
	return packedAt(t, text, flate.BestCompression)
}

func packedAt(t testing.TB, text []byte, level int) []byte {
	t.Helper()
	out := bytes.NewBufferString(fileMagic)
	out.Write([]byte{fileVersion, 0, 0, 0, 0, 0, 0, 0})
	z, err := flate.NewWriter(out, level)
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

// opening returns a body up to the columns of its only variant, with one formula of 512 bytes and the given number of
// queues.
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

// repeating returns text whose last byte is repeated n more times, followed by after.
func repeating(text []byte, n uint64, after []byte) []byte {
	e := &encoder{}
	e.bytes(text)
	e.uint(n)
	e.uint(1)
	e.bytes(after)
	e.uint(0)
	return e.out
}

// bombs returns files of a few hundred bytes that declare hundreds of millions of items.
func bombs(t testing.TB) map[string][]byte {
	const many = 400 << 20
	events := opening(1)
	events.uint(0)    // the queue
	events.uint(0)    // allocations before the first event
	events.uint(many) // all allocations
	events.uint(many) // length of the column of kinds
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

// TestFileOfFalseCounts checks that a file that declares more than it contains is refused before anything of that
// size is allocated.
func TestFileOfFalseCounts(t *testing.T) {
	for name, file := range bombs(t) {
		var err error
		took := allocated(func() { _, err = Read(bytes.NewReader(file)) })
		if most := uint64(32<<20 + 8*bodyLimit(len(file))); err == nil || took > most {
			t.Errorf("%s: reading %d bytes took %d MiB (at most %d), %v", name, len(file), took>>20, most>>20, err)
		}
	}
}

// oneVariant returns a file with one variant that has these columns.
func oneVariant(t testing.TB, queues, made int, columns ...[]byte) []byte {
	t.Helper()
	e := opening(queues)
	for range queues {
		e.uint(0)
	}
	e.uint(0) // allocations before the first event
	e.uint(uint64(made))
	for _, c := range columns {
		e.bytes(c)
	}
	return unrepeated(t, e.out)
}

// unrepeated returns a file whose body is only lightly compressed, because a large body in a small file is refused.
func unrepeated(t testing.TB, body []byte) []byte {
	t.Helper()
	text := &encoder{}
	text.bytes(body)
	text.uint(0)
	return packedAt(t, text.out, flate.HuffmanOnly)
}

// repeats returns a file with events that repeat from beginning to end.
func repeats(t testing.TB, events int) []byte {
	t.Helper()
	made := events / 2
	zeros := make([]byte, made)
	kinds := bytes.Repeat([]byte{byte(stream.Alloc), byte(stream.Free)}, made)
	return oneVariant(t, 1, made, kinds, zeros, zeros, zeros, zeros)
}

// unpredictable returns a file with unpredictable events, nearly as large as a body may be.
func unpredictable(t testing.TB, events int) []byte {
	t.Helper()
	made, queues := events/2, 1<<7
	random, ages, far := make([]byte, made), &encoder{}, uint32(0)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range random {
		random[i] = byte(r.IntN(queues))
		ages.age(uint32(i+1), uint32(r.IntN(i+1)), &far)
	}
	kinds := bytes.Repeat([]byte{byte(stream.Alloc), byte(stream.Free)}, made)
	return oneVariant(t, queues, made, kinds, make([]byte, made), random, ages.out, random)
}

// TestLargestFile checks that reading any profile takes less than 300 MB, and that a larger one is refused with one
// line that names the limit.
func TestLargestFile(t *testing.T) {
	for name, file := range map[string][]byte{
		"repeats": repeats(t, maxEvents), "unpredictable": unpredictable(t, maxEvents*7/8), "terms": terms(t, maxFormulas, maxAllTerms/maxFormulas),
		"segments": segments(t, maxCommas),
	} {
		var err error
		took := allocated(func() { _, err = Read(bytes.NewReader(file)) })
		t.Logf("%s: reading %d bytes took %d MB", name, len(file), took/1_000_000)
		if err != nil || took > 300_000_000 {
			t.Errorf("%s: reading %d bytes took %d MB, %v", name, len(file), took/1_000_000, err)
		}
	}
	for want, file := range map[string][]byte{
		fmt.Sprintf("at most %d are allowed", maxEvents):   repeats(t, maxEvents+2),
		fmt.Sprintf("at most %d are allowed", maxAllTerms): terms(t, maxAllTerms/maxSum+1, maxSum),
		fmt.Sprintf("more than %d", maxCommas):             segments(t, maxCommas+1),
	} {
		if _, err := Read(bytes.NewReader(file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("above the limit: %v, want %q", err, want)
		}
	}
}

// terms returns a file with many formulas of many terms.
func terms(t testing.TB, formulas, terms int) []byte {
	t.Helper()
	e := &encoder{}
	e.bytes([]byte(bombHeader))
	e.uint(uint64(formulas))
	for range formulas {
		e.formula(&formula{terms: make([]term, terms)})
	}
	e.uint(1)
	e.int(2)
	e.bytes([]byte("[]"))
	e.out = append(e.out, make([]byte, 8)...) // no queues, allocations or events
	return unrepeated(t, e.out)
}

// segments returns a file that starts with segments, with many commas between them.
func segments(t testing.TB, commas int) []byte {
	t.Helper()
	e := &encoder{}
	e.bytes([]byte(bombHeader))
	e.uint(0)
	e.uint(1)
	e.int(2)
	e.bytes([]byte("[" + strings.Repeat("{},", commas) + "{}]"))
	e.out = append(e.out, make([]byte, 8)...)
	return unrepeated(t, e.out)
}
