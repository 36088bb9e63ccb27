// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/units"
)

func TestParseOptions(t *testing.T) {
	with := func(change func(*Options)) Options {
		o := DefaultOptions()
		change(&o)
		return o
	}
	tests := []struct {
		conf  string
		minor int
		want  Options
	}{
		{"", 1, DefaultOptions()},
		{"expandable_segments:True", 1, with(func(o *Options) { o.Expandable = true })},
		{" expandable_segments : True , ", 11, with(func(o *Options) { o.Expandable = true })},
		{"backend:native,max_split_size_mb:21", 9, with(func(o *Options) { o.MaxSplitSize = 21 * units.MiB })},
		{"max_split_size_mb:20", 10, with(func(o *Options) { o.MaxSplitSize = 20 * units.MiB })},
		{"max_split_size_mb,64", 10, with(func(o *Options) { o.MaxSplitSize = 64 * units.MiB })},
		{"max_split_size_mb:64,max_non_split_rounding_mb:24", 6, with(func(o *Options) {
			o.MaxSplitSize, o.MaxNonSplitRounding = 64*units.MiB, 24*units.MiB
		})},
		{"garbage_collection_threshold:0.8", 2, with(func(o *Options) { o.GCThreshold = 0.8 })},
		{"max_split_size_mb:30,large_segment_size_mb:30", 11, with(func(o *Options) {
			o.MaxSplitSize, o.LargeSegment, o.MaxNonSplitRounding = 30*units.MiB, 30*units.MiB, 30*units.MiB
		})},
		{"per_process_memory_fraction:0.5", 10, with(func(o *Options) { o.Fraction, o.FractionSet = 0.5, true })},
		{"throw_on_cudamalloc_oom:True", 12, with(func(o *Options) { o.ThrowOnOOM = true })},
		{"release_lock_on_cudamalloc:True,pinned_num_register_threads:8", 3, DefaultOptions()},
		{"roundup_power2_divisions:4", 11, with(func(o *Options) { fill(o.Divisions[:], 4) })},
		{"roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", 11, with(func(o *Options) {
			o.Divisions = [16]uint64{1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 8, 8, 8, 8, 8}
		})},
		{"roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", 9, with(func(o *Options) {
			o.Divisions = [16]uint64{1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 8, 8, 8, 8, 8, 8}
		})},
		{"roundup_power2_divisions:[1:4,4:0],expandable_segments:True", 11, with(func(o *Options) {
			o.Divisions[0], o.Expandable = 4, true
		})},
	}
	for _, test := range tests {
		got, err := ParseOptions(test.conf, Version{2, test.minor})
		if err != nil {
			t.Errorf("%q under 2.%d: %v", test.conf, test.minor, err)
			continue
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%q under 2.%d (-want +got):\n%s", test.conf, test.minor, diff)
		}
	}
}

func TestParseOptionsErrors(t *testing.T) {
	tests := []struct {
		conf  string
		minor int
		says  string
	}{
		{"no_such_thing:1", 11, `unknown allocator option "no_such_thing"`},
		{",", 11, "unknown allocator option"},
		{"expandable_segments", 11, `expected ":"`},
		{"expandable_segments:true", 11, "expected True or False"},
		{"expandable_segments:", 11, "expected True or False"},
		{"expandable_segments,True", 9, `expected ":"`},
		{"expandable_segments:True:max_split_size_mb:64", 9, `expected ","`},
		{"max_split_size_mb:20", 9, "greater than 20"},
		{"max_split_size_mb:19", 10, "at least 20"},
		{"max_split_size_mb:20,large_segment_size_mb:30", 11, "at least 30"},
		{"max_split_size_mb:-1", 11, "not a whole number"},
		{"max_split_size_mb:99999999999999999999", 11, "not a whole number"},
		{"large_segment_size_mb:10", 11, "greater than 10"},
		{"large_segment_size_mb", 11, "not a whole number"},
		{"large_segment_size_mb:30", 10, "needs PyTorch 2.11"},
		{"max_non_split_rounding_mb:24", 5, "needs PyTorch 2.6"},
		{"throw_on_cudamalloc_oom:True", 11, "needs PyTorch 2.12"},
		{"garbage_collection_threshold:1", 11, "between 0 and 1"},
		{"garbage_collection_threshold:0", 11, "between 0 and 1"},
		{"garbage_collection_threshold:NaN", 11, "not a number"},
		{"per_process_memory_fraction:1.5", 11, "between 0 and 1"},
		{"roundup_power2_divisions:3", 11, "power of two"},
		{"roundup_power2_divisions:0", 11, "power of two"},
		{"roundup_power2_divisions:[3:4]", 11, "power of two"},
		{"roundup_power2_divisions:[4:3]", 11, "power of two or 0"},
		{"roundup_power2_divisions:[4:2", 11, "no closing ]"},
		{"roundup_bypass_threshold_mb:64", 11, "unknown"},
		{"backend:cudaMallocAsync", 11, "not modeled"},
		{"backend:other", 11, "must be native"},
	}
	for _, test := range tests {
		_, err := ParseOptions(test.conf, Version{2, test.minor})
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%q under 2.%d: error %v, want one containing %q", test.conf, test.minor, err, test.says)
		}
	}
}

// TestReparse checks which options a second string keeps from the first.
func TestReparse(t *testing.T) {
	first := "expandable_segments:True,max_split_size_mb:64,max_non_split_rounding_mb:32,garbage_collection_threshold:0.5,roundup_power2_divisions:4"
	for _, test := range []struct {
		minor    int
		rounding uint64
	}{{9, 32 * units.MiB}, {10, 32 * units.MiB}, {11, 20 * units.MiB}} {
		v := Version{2, test.minor}
		o, err := ParseOptions(first, v)
		if err != nil {
			t.Fatal(err)
		}
		got, err := o.Reparse("", v)
		if err != nil {
			t.Fatal(err)
		}
		want := DefaultOptions()
		want.Expandable, want.MaxNonSplitRounding = true, test.rounding
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("2.%d (-want +got):\n%s", test.minor, diff)
		}
		if kept, err := o.Reparse("nonsense", v); err == nil || kept != o {
			t.Errorf("2.%d: an invalid string was accepted or changed the options", test.minor)
		}
	}
	o, _ := ParseOptions("large_segment_size_mb:30", Version{2, 11})
	if o, _ = o.Reparse("", Version{2, 11}); o.LargeSegment != 30*units.MiB || o.MaxNonSplitRounding != 30*units.MiB {
		t.Errorf("large segment %d, rounding %d after an empty string, want both 30 MiB", o.LargeSegment, o.MaxNonSplitRounding)
	}
}

func FuzzParseOptions(f *testing.F) {
	f.Add("roundup_power2_divisions:[256:1,512:2,>:8],expandable_segments:True", 11)
	f.Add("max_split_size_mb:64,,garbage_collection_threshold:0.8", 9)
	f.Add("large_segment_size_mb:11,max_non_split_rounding_mb", 12)
	f.Fuzz(func(t *testing.T, conf string, minor int) {
		v := Version{2, 1 + int(uint(minor)%12)}
		o, err := ParseOptions(conf, v)
		if err != nil {
			if o != DefaultOptions() {
				t.Errorf("%q failed and changed the options", conf)
			}
			return
		}
		if o.MaxSplitSize < o.LargeSegment || o.LargeSegment <= MinLarge || o.GCThreshold < 0 || o.GCThreshold >= 1 {
			t.Errorf("%q under %v was accepted with %+v", conf, v, o)
		}
		again, err := ParseOptions(conf, v)
		if err != nil || again != o {
			t.Errorf("%q does not parse to the same options twice", conf)
		}
	})
}
