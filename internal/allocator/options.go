// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"fmt"
	"math"
)

// Unlimited is the value of max_split_size if it is not set.
const Unlimited = math.MaxUint64

// divisionSlots is the number of size classes in roundup_power2_divisions: one below 2 MiB, one for each doubling,
// and the last for 32 GiB and above.
const divisionSlots = 16

// Options are the settings in PYTORCH_ALLOC_CONF that affect the placement of memory. options_parse.go lists the keys
// and the version that introduced each; options_values.go reads the values. Settings for host memory and locking are
// checked by the parser and dropped.
type Options struct {
	Expandable          bool                  // expandable_segments
	MaxSplitSize        uint64                // max_split_size_mb, in bytes
	MaxNonSplitRounding uint64                // max_non_split_rounding_mb, in bytes
	LargeSegment        uint64                // large_segment_size_mb, in bytes
	GCThreshold         float64               // garbage_collection_threshold; 0 means off
	Divisions           [divisionSlots]uint64 // roundup_power2_divisions by size class
	Fraction            float64               // per_process_memory_fraction, applied at start-up
	FractionSet         bool                  // whether Fraction is set
	ThrowOnOOM          bool                  // throw_on_cudamalloc_oom
}

// DefaultOptions returns the options for an empty PYTORCH_ALLOC_CONF, which are the same in every version.
func DefaultOptions() Options {
	return Options{
		MaxSplitSize:        Unlimited,
		MaxNonSplitRounding: LargeBuffer,
		LargeSegment:        LargeBuffer,
		Fraction:            1,
	}
}

// ParseOptions reads a PYTORCH_ALLOC_CONF string as PyTorch v does at start-up.
func ParseOptions(conf string, v Version) (Options, error) {
	return DefaultOptions().Reparse(conf, v)
}

// Reparse parses a string as torch.cuda.memory._set_allocator_settings does in a running process:
// settings missing from conf return to their defaults, except for those that PyTorch keeps. On error the
// options are unchanged.
func (o Options) Reparse(conf string, v Version) (Options, error) {
	if err := v.check(); err != nil {
		return o, err
	}
	next := o
	next.MaxSplitSize, next.GCThreshold, next.Divisions = Unlimited, 0, [divisionSlots]uint64{}
	p := parser{tokens: tokenize(conf), v: v, rules: rulesOf(v), out: &next}
	if err := p.parse(); err != nil {
		return o, err
	}
	return next, nil
}

// filled replaces the zero Options with the defaults.
func (o Options) filled() Options {
	d := DefaultOptions()
	if o.MaxSplitSize == 0 {
		o.MaxSplitSize = d.MaxSplitSize
	}
	if o.MaxNonSplitRounding == 0 {
		o.MaxNonSplitRounding = d.MaxNonSplitRounding
	}
	if o.LargeSegment == 0 {
		o.LargeSegment = d.LargeSegment
	}
	if !o.FractionSet {
		o.Fraction = d.Fraction
	}
	return o
}

// Check returns an error for options that no option string can produce, such as those from a damaged file.
func (o Options) Check() error {
	o = o.filled()
	switch {
	case o.LargeSegment <= MinLarge || o.LargeSegment >= absurdlyLarge:
		return fmt.Errorf("the segment size (%d bytes) must be greater than %d and less than %d", o.LargeSegment, MinLarge, absurdlyLarge)
	case o.MaxSplitSize < o.LargeSegment || o.MaxNonSplitRounding < o.LargeSegment:
		return fmt.Errorf("max_split_size (%d bytes) and max_non_split_rounding (%d) must be at least the segment size (%d)", o.MaxSplitSize, o.MaxNonSplitRounding, o.LargeSegment)
	case !(o.GCThreshold >= 0 && o.GCThreshold < 1) || !(o.Fraction >= 0 && o.Fraction <= 1):
		return fmt.Errorf("the threshold %v and the fraction %v must be between 0 and 1", o.GCThreshold, o.Fraction)
	}
	return nil
}
