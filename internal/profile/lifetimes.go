// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"hash/fnv"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"snug/internal/snapshot"
	"snug/internal/stream"
)

// lifetime is one allocation of a recording, as used for alignment.
type lifetime struct {
	size  uint64
	stack uint64 // hash of the frames; 0 if there are none
	span  int32  // number of allocations made while it lived, or forever
	queue uint16
}

// forever is the span of an allocation that outlives the recording.
const forever = math.MaxInt32

// lifetimes lists the allocations of a recording in the order they were made,
// starting with those that existed before it.
func lifetimes(rec *snapshot.Recording, d *snapshot.Device) []lifetime {
	out := make([]lifetime, d.Trace.Allocations())
	keys := stackKeys(rec)
	made := int32(d.Trace.Initial)
	for i := range out {
		out[i].span = forever
	}
	for i := range d.Trace.Events {
		switch e := &d.Trace.Events[i]; e.Kind {
		case stream.Alloc:
			l := &out[e.ID]
			l.size, l.queue = e.Size, e.Queue
			if d.Stacks != nil {
				l.stack = keys[d.Stacks[i]]
			}
			made++
		case stream.Free, stream.FreeRequested:
			if l := &out[e.ID]; e.ID >= d.Trace.Initial {
				l.span = made - int32(e.ID) - 1
			}
		}
	}
	return out
}

// stackKeys hashes the stacks of a recording. Only base file names are hashed, because the same program may be
// installed elsewhere. The probe's own frames are skipped, because they differ between steps.
func stackKeys(rec *snapshot.Recording) []uint64 {
	frames := make([]string, len(rec.Frames))
	for i, f := range rec.Frames {
		if name := fileName(f.File); name != probeFile {
			frames[i] = name + ":" + f.Name + ":" + strconv.Itoa(f.Line) + "\n"
		}
	}
	keys := make([]uint64, len(rec.Stacks))
	for i, stack := range rec.Stacks {
		if len(stack) == 0 {
			continue
		}
		h := fnv.New64a()
		for _, f := range stack {
			h.Write([]byte(frames[f]))
		}
		keys[i] = h.Sum64() | 1
	}
	return keys
}

// probeFile is the file name of the probe in a run.
const probeFile = "sitecustomize.py"

// fileName returns the base name of a source file. Libraries such as torch_geometric generate modules with names
// that, like those of Python's tempfile, end in an underscore and eight characters that differ each time.
func fileName(file string) string {
	name := path.Base(file)
	stem, generated := strings.CutSuffix(name, ".py")
	if n := len(stem) - randomName; generated && n > 0 && stem[n] == '_' && strings.Contains(path.Dir(file)+"/", "/tmp") {
		return stem[:n]
	}
	return name
}

// randomName is the length of that suffix, including the underscore.
const randomName = 9

// shareStacks reports whether two recordings have common stacks for at least half of their allocations. Otherwise
// their programs differ in line numbers, and stacks do not help to match allocations.
func shareStacks(a, b []lifetime) bool {
	seen := map[uint64]bool{}
	for i := range a {
		seen[a[i].stack] = true
	}
	shared := 0
	for i := range b {
		if seen[b[i].stack] {
			shared++
		}
	}
	return 2*shared >= len(b)
}

// withoutStacks returns a copy without stacks, so that only sizes and spans are compared.
func withoutStacks(l []lifetime) []lifetime {
	out := slices.Clone(l)
	for i := range out {
		out[i].stack = 0
	}
	return out
}
