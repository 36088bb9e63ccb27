// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"bytes"
	"testing"
	"time"

	"snug/internal/gpu"
)

// maxWait is the watchdog's limit. Inputs that fuzzing finds take a thousandth of it.
const maxWait = 20 * time.Second

// bounded runs f, which may allocate at most this many bytes and must end.
func bounded(t *testing.T, what string, most int, f func()) {
	t.Helper()
	watch := time.AfterFunc(maxWait, func() { panic(what + " does not end") })
	defer watch.Stop()
	if took := allocated(f); took > uint64(most) {
		t.Errorf("%s takes %d KiB, want at most %d", what, took>>10, most>>10)
	}
}

// FuzzRead tries bodies with a valid checksum, so that the code behind it is reached. A readable profile must give a
// prediction and its margin, in memory proportional to the body.
func FuzzRead(f *testing.F) {
	p := fitted(f, transformer(2), transformer(3))
	body, err := p.body()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(body)
	f.Add(body[:len(body)/2])
	f.Add(opening(1).out)
	ragged, err := fitted(f, watched(2, dataset(), 40, 77, 61), watched(3, dataset(), 66, 35, 101)).body()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(ragged)
	f.Fuzz(func(t *testing.T, body []byte) {
		var p *Program
		var err error
		bounded(t, "reading", 1<<20+200*len(body), func() { p, err = readBody(body) })
		if err != nil {
			return
		}
		at := Point{}
		for _, name := range p.Names {
			at[name] = 4
		}
		bounded(t, "predicting", 16<<20+1000*len(body), func() { _, _ = p.Predict(at) })
		p.Facts.Precision = "amp-fp16" // overrides the file's precision, so that all causes are computed
		bounded(t, "its margin", 256<<20+20_000*len(body), func() {
			_, _ = p.Margin(at, gpu.Card{Capability: 80, SMs: 108}, reservedAt(at))
		})
	})
}

// FuzzFile varies the data before compression, with repetitions of a few bytes.
func FuzzFile(f *testing.F) {
	for _, text := range [][]byte{
		withoutRepeats(opening(1).out),
		repeating(opening(1).out, 1<<20, nil),
		repeating(opening(1).out, 1<<40, []byte{0}),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file := packed(t, text)
		bounded(t, "reading", 8<<20+200*bodyLimit(len(file)), func() { _, _ = Read(bytes.NewReader(file)) })
	})
}
