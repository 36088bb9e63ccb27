// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"cmp"
	"runtime"
	"slices"
	"sync"

	"snug/internal/allocator"
	"snug/internal/snapshot"
)

// Candidate is an allocator setting worth trying.
type Candidate struct {
	Conf  string // PYTORCH_CUDA_ALLOC_CONF
	since int    // the minor version of PyTorch 2 that introduced it
	cap   bool   // has no effect without a limit
}

// candidates are the settings that people are advised to try, with values that training runs use. Smaller values of
// max_split_size only add segments.
var candidates = []Candidate{
	{Conf: ""},
	{Conf: "expandable_segments:True", since: 1},
	{Conf: "max_split_size_mb:64"},
	{Conf: "max_split_size_mb:128"},
	{Conf: "max_split_size_mb:256"},
	{Conf: "max_split_size_mb:512"},
	{Conf: "roundup_power2_divisions:4"},
	{Conf: "roundup_power2_divisions:8"},
	{Conf: "roundup_power2_divisions:16"},
	{Conf: "large_segment_size_mb:64", since: 11},
	{Conf: "garbage_collection_threshold:0.8", cap: true},
	{Conf: "garbage_collection_threshold:0.6", cap: true},
}

// Outcome is the result for a candidate.
type Outcome struct {
	Candidate
	*Result
}

// Fits reports whether the run reached its end.
func (o Outcome) Fits() bool { return o.OOM == nil }

// Compare plays a device's recording with every setting worth trying, best first: those that fit before those that do
// not, then by peak reserved memory. Settings that the version does not accept are skipped.
func Compare(rec *snapshot.Recording, d *snapshot.Device, o Options) ([]Outcome, error) {
	version, err := Version(rec, o.Torch)
	if err != nil {
		return nil, err
	}
	var worth []Candidate
	for _, c := range candidates {
		_, err := allocator.ParseOptions(c.Conf, version)
		if err == nil && version.AtLeast(c.since) && (o.Limit > 0 || !c.cap) {
			worth = append(worth, c)
		}
	}
	outcomes, err := playAll(rec, d, o, worth)
	slices.SortStableFunc(outcomes, func(a, b Outcome) int {
		if a.Fits() != b.Fits() {
			if a.Fits() {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.PeakReserved, b.PeakReserved)
	})
	return outcomes, err
}

// playAll plays the candidates in parallel; the recording is only read.
func playAll(rec *snapshot.Recording, d *snapshot.Device, o Options, worth []Candidate) ([]Outcome, error) {
	outcomes, errs := make([]Outcome, len(worth)), make([]error, len(worth))
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var all sync.WaitGroup
	for i, c := range worth {
		all.Add(1)
		go func() {
			defer all.Done()
			slots <- struct{}{}
			defer func() { <-slots }()
			r, err := Run(rec, d, Options{Torch: o.Torch, Conf: &c.Conf, Limit: o.Limit, Stop: o.Stop})
			outcomes[i], errs[i] = Outcome{c, r}, err
		}()
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return outcomes, nil
}

// Variable returns the environment variable that a version reads its options from, as in its own messages.
func Variable(v allocator.Version) string {
	if v.Minor == 10 {
		return "PYTORCH_ALLOC_CONF"
	}
	return "PYTORCH_CUDA_ALLOC_CONF"
}
