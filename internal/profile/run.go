// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"snug/internal/allocator"
	"snug/internal/stream"
)

// Run is a training step at a size, for an allocator to play.
type Run struct {
	Trace *stream.Trace            // the stream at that size
	Start []allocator.SegmentState // segments that existed before the first event
}

// Run generates the recorded steps at a size, and a few more.
func (p *Program) Run(at Point) (*Run, error) {
	values, err := p.values(at)
	if err != nil {
		return nil, err
	}
	if p.ragged != nil {
		return p.raggedRun(values, at)
	}
	v := p.nearest(values)
	trace, err := p.trace(v, v.whole, values, at)
	if err != nil {
		return nil, err
	}
	return &Run{Trace: trace, Start: v.start}, nil
}
