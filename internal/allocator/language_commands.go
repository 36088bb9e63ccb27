// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The commands of the script language. language.go lists them.

func (s *scriptRun) alloc(args []string) error {
	id := args[0]
	if _, taken := s.refs[id]; taken {
		return fmt.Errorf("%q is already allocated", id)
	}
	bytes, err := strconv.ParseUint(args[1], 10, 64)
	if err != nil {
		return fmt.Errorf("%q is not a number of bytes", args[1])
	}
	var handle uint64
	if len(args) == 3 {
		if handle, err = streamHandle(args[2]); err != nil {
			return err
		}
	}
	s.busy = true
	ref, err := s.a.Alloc(bytes, handle)
	var oom *OutOfMemoryError
	if errors.As(err, &oom) {
		_, err = fmt.Fprintf(s.w, "OOM %s :: %s\n", id, oom)
		return err
	}
	if err == nil {
		s.refs[id] = ref
	}
	return err
}

// ref returns the block with the given ID.
func (s *scriptRun) ref(id string) (Ref, error) {
	r, ok := s.refs[id]
	if !ok {
		return Null, fmt.Errorf("%q is not allocated", id)
	}
	return r, nil
}

func (s *scriptRun) free(args []string) error {
	r, err := s.ref(args[0])
	if err != nil {
		return err
	}
	delete(s.refs, args[0])
	return s.a.Free(r)
}

func (s *scriptRun) recordStream(args []string) error {
	r, err := s.ref(args[0])
	if err != nil {
		return err
	}
	handle, err := streamHandle(args[1])
	if err != nil {
		return err
	}
	return s.a.RecordStream(r, handle)
}

func (s *scriptRun) events(args []string) error {
	if args[0] != "0" && args[0] != "1" {
		return fmt.Errorf("%q is neither 0 nor 1", args[0])
	}
	s.a.SetEventsDone(args[0] == "1")
	return nil
}

func (s *scriptRun) printUsed([]string) error {
	_, err := fmt.Fprintf(s.w, "device_used %d\n", s.dev.Used()+s.dev.Outside)
	return err
}

func (s *scriptRun) printStats(args []string) error {
	t := s.a.Stats()
	_, err := fmt.Fprintf(s.w, "%s alloc=%d/%d act=%d req=%d resv=%d/%d seg=%d nact=%d isplit=%d/%d "+
		"small_resv=%d retries=%d ooms=%d dalloc=%d dfree=%d sync=%d\n", strings.Join(args, " "),
		t.AllocatedBytes.All.Current, t.AllocatedBytes.All.Peak, t.ActiveBytes.All.Current, t.RequestedBytes.All.Current,
		t.ReservedBytes.All.Current, t.ReservedBytes.All.Peak, t.Segment.All.Current, t.Active.All.Current,
		t.InactiveSplit.All.Current, t.InactiveSplitBytes.All.Current, t.ReservedBytes.Small.Current,
		t.AllocRetries, t.OOMs, t.DeviceAllocs, t.DeviceFrees, t.SyncAllStreams)
	return err
}

func (s *scriptRun) printSegments([]string) error {
	segments := s.a.Segments()
	for _, g := range segments {
		if _, err := fmt.Fprintln(s.w, segmentLine(g, segments[0].Address)); err != nil {
			return err
		}
	}
	return nil
}

// segmentLine formats a segment: "  seg +0 2097152 S st=0 : 512A 2096640f".
func segmentLine(g SegmentState, lowest uint64) string {
	var b strings.Builder
	kind := "L"
	if g.Small {
		kind = "S"
	}
	if g.Expandable {
		kind += "E"
	}
	fmt.Fprintf(&b, "  seg +%d %d %s st=%d :", g.Address-lowest, g.Size, kind, g.Stream)
	for _, k := range g.Blocks {
		fmt.Fprintf(&b, " %d%c", k.Size, "fAP"[k.Use])
	}
	return b.String()
}
