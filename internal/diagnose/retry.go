// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"fmt"
	"strings"

	"snug/internal/allocator"
	"snug/internal/replay"
	"snug/internal/snapshot"
	"snug/internal/stream"
	"snug/internal/units"
)

// Retry is the result of replaying a recorded run, including its failed request, under another setting.
type Retry struct {
	Conf   string // the setting
	Set    string // the line that sets the setting
	Fits   bool   // whether the request succeeds
	Unsure bool   // the cap is not known well enough to decide
	Needs  uint64 // bytes reserved at the end, with the request
}

const expandableConf = "expandable_segments:True"

// retry replays the recording with expandable segments in the memory that was available to the run, which is
// between low and high. It returns nil if no request failed, the run already used expandable segments, or its
// PyTorch version lacks them.
func (r *Recorded) retry(low, high uint64) *Retry {
	version, opt, err := replay.Settings(r.rec, r.device)
	if err != nil || r.OOM == nil || opt.Expandable || r.rec.Torch == "2.0" {
		return nil
	}
	conf := strings.Trim(r.rec.Settings.Conf+","+expandableConf, ",")
	out := &Retry{Conf: conf, Set: replay.Variable(version) + "=" + conf}
	d := r.withRequest()
	fits := func(limit uint64) bool {
		result, err := replay.Run(r.rec, d, replay.Options{Conf: &conf, Limit: limit})
		if err != nil || result.OOM != nil {
			return false
		}
		out.Needs = result.PeakReserved
		return true
	}
	switch {
	case fits(low):
		out.Fits = true
	case high > low && fits(high):
		out.Unsure = true
	}
	return out
}

// withRequest returns the device's recording up to the failed request, with that request recorded as successful.
func (r *Recorded) withRequest() *snapshot.Device {
	d := *r.device
	until := min(r.OOM.Event, len(d.Trace.Events))
	trace := stream.Trace{Queues: d.Trace.Queues, Initial: d.Trace.Initial}
	trace.Events = append(make([]stream.Event, 0, until+1), d.Trace.Events[:until]...)
	next, queue := d.Trace.Initial, uint16(0)
	for _, e := range trace.Events {
		if e.Kind == stream.Alloc {
			next, queue = e.ID+1, e.Queue
		}
	}
	trace.Events = append(trace.Events, stream.Event{Kind: stream.Alloc, ID: next, Size: r.OOM.Size, Queue: queue})
	d.Trace = &trace
	return &d
}

// rooms returns bounds on the memory that the process could reserve. If the text has no cap, they are the memory
// reserved at the failure, and that plus the failed request.
func (c *failure) rooms() (low, high uint64) {
	r := c.Recorded
	free := uint64(max(0, r.OOM.DeviceFree))
	if limit := c.message.Limit; limit > 0 {
		return limit, limit
	}
	if free < r.OOM.Size+slack {
		return r.Reserved + free, r.Reserved + free
	}
	return r.Reserved, r.Reserved + r.OOM.Size
}

// why describes what the replay showed.
func (r *Retry) why() string {
	switch {
	case r == nil:
		return ""
	case r.Fits:
		return fmt.Sprintf("; replayed with expandable segments, the allocation succeeds with %v reserved", units.Bytes(r.Needs))
	case r.Unsure:
		return "; whether expandable segments would have helped depends on the limit, which the snapshot does not contain; add the log"
	}
	return "; replayed with expandable segments, the allocation fails too"
}

// defragments returns the fix with its change: expandable segments or, for a PyTorch without them, an update or max_split_size_mb.
func (m *Message) defragments(f Fix) Fix {
	if m.older && (m.Device == "" || m.Device == "CUDA") {
		f.Saves = 0 // not known: it depends on the sizes of the run's blocks
		f.Change = "update to PyTorch 2.1 or newer and set " + m.variable() + " (the version that printed this message refuses that option); without an update, set PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128"
		return f
	}
	f.Change = "set " + m.variable()
	return f
}

// variable returns the line that sets expandable segments, for the device of a message.
func (m *Message) variable() string {
	switch m.Device {
	case "HIP":
		return "PYTORCH_HIP_ALLOC_CONF=" + expandableConf
	case "NPU":
		return "PYTORCH_NPU_ALLOC_CONF=" + expandableConf
	}
	return replay.Variable(allocator.Latest) + "=" + expandableConf
}
