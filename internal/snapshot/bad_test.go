// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
)

// withEntry returns a snapshot that is valid except for one trace entry.
func withEntry(e d) []byte {
	return pickled(snapshotOf(l{segmentOf(0, base, 2, true, 2*mib, "inactive")}, l{e}), false)
}

func compressed(b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(b)
	_ = z.Close()
	return out.Bytes()
}

func TestBadFiles(t *testing.T) {
	good := pickled(twoAllocs(), false)
	packed := compressed(good)
	flipped := bytes.Clone(packed)
	flipped[len(flipped)-6] ^= 1
	tests := map[string]struct {
		file []byte
		want string
	}{
		"empty":            {nil, "the file is empty"},
		"text":             {[]byte("hello"), "byte 0: not a pickle"},
		"truncated":        {good[:len(good)/2], "truncated"},
		"gzip truncated":   {packed[:len(packed)/2], "truncated"},
		"gzip corrupt":     {flipped, "checksum"},
		"no stop":          {good[:len(good)-1], "truncated"},
		"os.system":        {[]byte("cos\nsystem\n(S'id'\ntR."), "byte 11: calls os.system; a snapshot never does"},
		"os.system, new":   {[]byte("\x80\x04\x8c\x02os\x8c\x06system\x93."), "calls os.system; a snapshot never does"},
		"inst":             {[]byte("(ios\nsystem\n."), "calls os.system"},
		"reduce":           {[]byte("\x80\x04NR."), "byte 3: opcode REDUCE has no place in a snapshot"},
		"persistent id":    {[]byte("\x80\x04Pabc\n."), "opcode PERSID"},
		"protocol":         {[]byte("\x80\x09."), "protocol 9"},
		"unknown opcode":   {[]byte("\x80\x04\xff."), "byte 2: 0xff is not a pickle opcode"},
		"another pickle":   {pickled(l{1, 2, 3}, false), "not a snapshot"},
		"another dict":     {pickled(d{"weights", l{}}, false), `without "segments"`},
		"nothing in it":    {pickled(snapshotOf(l{}), false), "the snapshot is empty"},
		"long string":      {[]byte("\x80\x04X\xff\xff\xff\xffabc"), "longer than any in a snapshot"},
		"promised string":  {[]byte("\x80\x04X\x00\x00\x00\x01abc"), "truncated"},
		"memo hole":        {[]byte("\x80\x04}r\xff\xff\xff\x7f."), "memo slot 2147483647 is filled before slot 0"},
		"memo unknown":     {[]byte("\x80\x04h\x05."), "memo slot 5 is used before it is filled"},
		"huge integer":     {[]byte("\x80\x04\x8a\x20" + strings.Repeat("\xff", 32) + "."), "an integer of 32 bytes"},
		"deep":             {[]byte("\x80\x04" + strings.Repeat("](", 1000)), "nested more than 64 deep"},
		"stack underflow":  {[]byte("\x80\x04s."), "needs a value, but the stack is empty"},
		"no mark":          {[]byte("\x80\x04}u."), "needs a mark"},
		"items into int":   {[]byte("\x80\x04K\x01(K\x02e."), "items are added to an int"},
		"odd items":        {[]byte("\x80\x04}(K\x02u."), "a key has no value"},
		"loop":             {[]byte("\x80\x04]\x94h\x00a."), "not a snapshot"},
		"negative size":    {withEntry(at("alloc", base, -5)), "the size of a trace entry is -5, not a size"},
		"absurd size":      {withEntry(at("alloc", base, 1<<62)), "is 4611686018427387904, not a size"},
		"unknown action":   {withEntry(at("teleport", base, 5)), `an unknown action "teleport"`},
		"never allocated":  {withEntry(at("free_requested", 0x1000, 5)), "frees 0x1000, which was never allocated"},
		"never requested":  {withEntry(at("segment_free", base, 2*mib)), "have a segment there"},
		"no such segment":  {withEntry(at("segment_alloc", base+1<<30, 2*mib)), "no such segment"},
		"unknown state":    {pickled(snapshotOf(l{segmentOf(0, base, 2, true, 2*mib, "undead")}), false), `an unknown state "undead"`},
		"gap in a segment": {pickled(snapshotOf(l{segmentOf(0, base, 4, true, 2*mib, "inactive")}), false), "has 4194304 bytes, its blocks 2097152"},
		"overlap":          {pickled(snapshotOf(l{segmentOf(0, base, 2, true), segmentOf(0, base+mib, 2, true)}), false), "overlap"},
		"device":           {pickled(snapshotOf(l{segmentOf(1<<30, base, 2, true)}), false), "a device is 1073741824"},
		"double free": {pickled(snapshotOf(l{}, l{
			at("alloc", base, 5), at("free_requested", base, 5), at("free_requested", base, 5),
		}), false), "trace entry 2 frees 0x7f0000000000, which is already free"},
		"double alloc":     {pickled(snapshotOf(l{}, l{at("alloc", base, 5), at("alloc", base, 5)}), false), "which is in use"},
		"terminal escapes": {withEntry(at("\x1b[2J", base, 5)), `"?[2J"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Read(bytes.NewReader(tt.file))
			if err == nil {
				t.Fatal("no error")
			}
			if msg := err.Error(); !strings.Contains(msg, tt.want) || strings.ContainsAny(msg, "\n\x1b") {
				t.Errorf("got %q, want one line with %q", msg, tt.want)
			}
		})
	}
}

// TestBombs reads small files that would fill the memory of a careless reader.
func TestBombs(t *testing.T) {
	if testing.Short() {
		t.Skip("decompresses some hundred megabytes")
	}
	tests := map[string]struct {
		unit string
		mib  int
	}{
		"values": {"N", 8},
		"lists":  {"]", 8},
		"dicts":  {"}", 8},
		"named":  {"]\x94", 8},
		"frames": {"\x95\x00\x00\x00\x00\x00\x00\x00\x00", 80},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			file := compressed([]byte("\x80\x04" + strings.Repeat(tt.unit, tt.mib*mib/len(tt.unit))))
			if _, err := Read(bytes.NewReader(file)); err == nil || !strings.Contains(err.Error(), "more") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add(pickled(twoAllocs(), false))
	f.Add(pickled(twoAllocs(), true))
	f.Add(compressed(pickled(twoAllocs(), false)))
	f.Add([]byte("cos\nsystem\n(S'id'\ntR."))
	f.Add([]byte("\x80\x04]\x94(]\x94h\x00a\x85l}(dte."))
	f.Fuzz(func(t *testing.T, file []byte) {
		rec, err := Read(bytes.NewReader(file))
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
			return
		}
		for i := range rec.Devices {
			checkDevice(t, rec, &rec.Devices[i])
		}
	})
}

// checkDevice checks what every user of a Device relies on.
func checkDevice(t *testing.T, rec *Recording, d *Device) {
	n := len(d.Trace.Events)
	for name, k := range map[string]int{"times": len(d.Times), "stacks": len(d.Stacks), "metadata": len(d.Metadata)} {
		if k != 0 && k != n {
			t.Errorf("%d %s for %d events", k, name, n)
		}
	}
	if len(d.Addresses) != int(d.Trace.Allocations()) {
		t.Errorf("%d addresses for %d allocations", len(d.Addresses), d.Trace.Allocations())
	}
	for _, e := range d.Trace.Events {
		if e.ID >= d.Trace.Allocations() && d.Trace.Allocations() > 0 || int(e.Queue) >= len(d.Trace.Queues) {
			t.Errorf("event %+v of %d allocations, %d queues", e, d.Trace.Allocations(), len(d.Trace.Queues))
		}
	}
	for _, s := range d.Stacks {
		if int(s) >= len(rec.Stacks) {
			t.Errorf("stack %d of %d", s, len(rec.Stacks))
		}
	}
	for _, s := range d.Start {
		sum := uint64(0)
		for _, b := range s.Blocks {
			sum += b.Size
		}
		if sum != s.Size {
			t.Errorf("the blocks at %#x have %d bytes of %d", s.Addr, sum, s.Size)
		}
	}
}
