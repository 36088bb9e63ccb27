// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"io"

	"snug/internal/replay"
	"snug/internal/snapshot"
)

// replayReport is the output of `snug replay`, as JSON and as text (replay_text.go).
type replayReport struct {
	path     string
	rec      *snapshot.Recording
	device   *snapshot.Device
	options  replayOptions
	limit    uint64
	result   *replay.Result
	outcomes []replay.Outcome
}

type replayAnswer struct {
	Events        int             `json:"events"`
	PeakAllocated uint64          `json:"peak_allocated"`
	PeakReserved  uint64          `json:"peak_reserved"`
	Exact         *bool           `json:"exact,omitempty"`
	Mismatch      string          `json:"mismatch,omitempty"`
	Fits          *bool           `json:"fits,omitempty"`
	OOM           *replayOOM      `json:"oom,omitempty"`
	Compare       []compareAnswer `json:"compare,omitempty"`
}

type replayOOM struct {
	Event   int    `json:"event"`
	Message string `json:"message"`
}

type compareAnswer struct {
	Conf          string `json:"conf"`
	PeakAllocated uint64 `json:"peak_allocated"`
	PeakReserved  uint64 `json:"peak_reserved"`
	Fits          *bool  `json:"fits,omitempty"`
}

func (r *replayReport) json(w io.Writer) error {
	res := r.result
	answer := replayAnswer{
		Events: res.Events, PeakAllocated: res.PeakAllocated, PeakReserved: res.PeakReserved,
		Mismatch: res.Mismatch, Fits: r.fits(res),
	}
	if res.Checked {
		exact := res.Exact()
		answer.Exact = &exact
	}
	if res.OOM != nil {
		answer.OOM = &replayOOM{res.OOMAt, res.OOM.Error()}
	}
	for _, o := range r.outcomes {
		answer.Compare = append(answer.Compare, compareAnswer{o.Conf, o.PeakAllocated, o.PeakReserved, r.fits(o.Result)})
	}
	return printJSON(w, answer)
}

// fits reports whether the run fits; nil if there was no limit.
func (r *replayReport) fits(res *replay.Result) *bool {
	if r.limit == 0 {
		return nil
	}
	fits := res.OOM == nil
	return &fits
}
