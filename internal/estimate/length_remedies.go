// SPDX-License-Identifier: Apache-2.0

package estimate

// Changes that may help a run with varying lengths. Changes that may help any run are the levers in plan/levers.go.

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"snug/internal/setup"
)

// Remedy is a change to a run with varying lengths, with the memory that the run would then reserve.
type Remedy struct {
	Change       string `json:"change"`        // a description of the change
	PeakReserved uint64 `json:"peak_reserved"` // peak of the run with the change, in bytes
	Saves        uint64 `json:"saves"`         // reduction in bytes
}

// LengthRemedy is a change that may help a run with varying lengths.
type LengthRemedy struct {
	Change string               // a description of the change
	Costs  string               // the cost of the change; "" means none
	On     func(s *setup.Setup) // applies the change
}

// expandableSegments and maxSplitSize are allocator options: expandable segments, and a limit above which blocks are
// not split.
const (
	expandableSegments = "expandable_segments:True"
	maxSplitSize       = "max_split_size_mb:128"
)

// padded is the multiple to which lengths are rounded up, so that there are fewer different ones.
const padded = 64

// buckets is the number of different lengths if batches are padded to only a few.
const buckets = 4

// LengthRemedies lists the changes that may help a run with varying lengths, besides allocator options.
func LengthRemedies(s *setup.Setup) (out []LengthRemedy) {
	if s.Lengths == nil {
		return nil
	}
	add := func(change, costs string, on func(l *setup.Lengths) *setup.Lengths) {
		out = append(out, LengthRemedy{change, costs, func(s *setup.Setup) { s.Lengths = on(s.Lengths) }})
	}
	longest := s.Seq
	add(fmt.Sprintf("padding to multiples of %d", padded), "pad_to_multiple_of in the collator", func(l *setup.Lengths) *setup.Lengths { return l.Padded(padded, longest) })
	if bucket := (longest + buckets - 1) / buckets; bucket > padded {
		add(fmt.Sprintf("padding to %d lengths, up to %d", buckets, longest), "computes more padding", func(l *setup.Lengths) *setup.Lengths { return l.Padded(bucket, longest) })
	}
	add("the longest batch first", "in the sampler", func(l *setup.Lengths) *setup.Lengths { return l.Ordered(setup.LongestFirst) })
	if s.Lengths.Each == nil {
		add("grouping by length", "the Trainer's train_sampling_strategy group_by_length (group_by_length before 5.0)", func(l *setup.Lengths) *setup.Lengths { return l.Ordered(setup.Grouped) })
		add(fmt.Sprintf("packing to %d tokens", longest), "packing in TRL and LLaMA-Factory, sample_packing in axolotl; more samples in each batch", func(l *setup.Lengths) *setup.Lengths { return l.Ordered(setup.Packed) })
	}
	return out
}

// AllocatorRemedies lists the allocator options that may help if lengths vary.
func AllocatorRemedies(s *setup.Setup) (out []LengthRemedy) {
	for _, o := range []struct{ option, unless string }{{expandableSegments, "expandable"}, {maxSplitSize, "max_split"}} {
		if !strings.Contains(s.Allocator, o.unless) {
			out = append(out, LengthRemedy{Change: o.option, On: func(s *setup.Setup) {
				s.Allocator = strings.TrimPrefix(s.Allocator+","+o.option, ",")
			}})
		}
	}
	return out
}

// remedies simulates the usual remedies for varying lengths, one at a time, and returns those that help, best first.
func (a *Answer) remedies(ctx context.Context) ([]Remedy, error) {
	all := append(AllocatorRemedies(a.Setup), LengthRemedies(a.Setup)...)
	peaks := make([]uint64, len(all))
	err := inParallel(len(all), func(i int) (err error) {
		peaks[i], err = a.reservedAs(ctx, all[i].On)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := []Remedy{}
	for i, peak := range peaks {
		if peak < a.PeakReserved {
			out = append(out, Remedy{all[i].Change, peak, a.PeakReserved - peak})
		}
	}
	slices.SortStableFunc(out, func(a, b Remedy) int { return cmp.Compare(a.PeakReserved, b.PeakReserved) })
	return out, nil
}
