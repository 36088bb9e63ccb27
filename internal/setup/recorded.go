// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"snug/internal/allocator"
)

// A setup whose model is a profile describes the recorded run, possibly at other sizes. Everything else in it must
// match the recordings. Settings that the recordings do not show are accepted as given, and affect no figure.

// Program is a profile used as a model.
type Program interface {
	// Recorded describes the runs that the profile was made from.
	Recorded() Recorded
}

// Recorded describes the runs that a profile was made from. Unknown fields are zero.
type Recorded struct {
	Torch         string             // PyTorch release
	Names         []string           // the quantities that were varied
	Sizes         []map[string]int64 // the sizes of the recordings
	Fixed         map[string]int64   // named quantities that were constant
	Precision     string             // one of Precisions; "" if unknown
	Optimizer     string             // class of the optimizer, such as AdamW
	Checkpointing *bool              // nil if unknown
	Accumulation  int                // backward passes per step
	World         int                // processes that trained together
	Kind          string             // the kind of dist
	Length        bool               // steps differ only in the length of their longest sample
}

// profile reads the profile that a model names, and the values of its quantities that have no field in Setup.
func (o *object) profile(s *Setup, model *object, from Source) error {
	if model == nil {
		return nil
	}
	name, _ := model.keys["profile"].(string)
	if name == "" {
		return nil
	}
	program, err := from.program(name)
	if err != nil {
		return err
	}
	s.Model.Program = program
	for _, q := range program.Recorded().Names {
		if !isSize(q) && !slices.Contains(o.asked, q) {
			if s.Sizes == nil {
				s.Sizes = map[string]int{}
			}
			s.Sizes[q] = o.whole(q, 0, 1, maxSeq)
		}
	}
	return nil
}

// program reads a profile, and caches it.
func (from Source) program(name string) (Program, error) {
	if p := from.Programs[name]; p != nil {
		return p, nil
	}
	f, err := from.open(name)
	if err != nil {
		return nil, fmt.Errorf("reading the profile %s: %w", name, reason(err))
	}
	defer f.Close()
	if from.Profile == nil {
		return nil, fmt.Errorf("reading the profile %s: profiles cannot be read here", name)
	}
	p, err := from.Profile(f)
	if err != nil {
		return nil, fmt.Errorf("reading the profile %s: %w", name, reason(err))
	}
	if from.Programs != nil {
		from.Programs[name] = p
	}
	return p, nil
}

// recorded fills in settings from the recordings and returns an error for those that contradict them.
func (s *Setup) recorded(o *object) error {
	p, name := s.Model.Program.Recorded(), filepath.Base(s.Model.Profile)
	if err := s.recordedSizes(p, name); err != nil {
		return err
	}
	if err := s.recordedWords(o, p, name); err != nil {
		return err
	}
	if err := s.recordedSpread(p, name); err != nil {
		return err
	}
	s.noteUnverified(o, p)
	torch := p.Torch
	if v, _ := o.keys["versions"].(map[string]any); v["torch"] != nil && !strings.HasPrefix(s.Versions.Torch+".", torch+".") {
		return Wrong("%s was recorded with PyTorch %s, but {versions.torch} is %s; record it with that version", name, torch, s.Versions.Torch)
	}
	s.Versions.Torch = torch
	v, err := allocator.ParseVersion(torch)
	if err == nil {
		_, err = allocator.ParseOptions(s.Allocator, v)
	}
	return err
}

// recordedSizes returns an error for a wrong size: a varied quantity must be given, and any other must match the
// recordings.
func (s *Setup) recordedSizes(p Recorded, name string) error {
	for _, q := range p.Names {
		switch {
		case s.size(q) > 0:
		case !isSize(q): // the quantity has no flag
			return Wrong("{"+q+"} is missing; %s was recorded at several values; give one in a setup file (%s: 8), or use snug predict with {at} %[2]s=8", name, q)
		default:
			return Wrong("{"+q+"} is missing; %s was recorded at several values; give one", name)
		}
	}
	for _, q := range Used(Size) {
		n := s.size(q)
		if n == 0 || slices.Contains(p.Names, q) {
			continue
		}
		switch was, known := p.Fixed[q]; {
		case known && was != int64(n):
			return Wrong("{"+q+"} is %d, but %s was recorded only at %d; record other sizes: snug profile --vary %s=%d,%d --vary %s -- <your command>",
				n, name, was, q, was, was+was/2+was%2, strings.Join(varied(p), " --vary "))
		case !known && q == "batch":
			return Wrong("%s was recorded at only one {batch}; record several: snug profile --vary batch=2,3 --vary %s -- <your command>",
				name, strings.Join(varied(p), " --vary "))
		case !known:
			s.Unverified = append(s.Unverified, q)
		}
	}
	if was, known := p.Fixed["seq"]; known {
		s.Seq = int(was)
	}
	return nil
}

// varied returns the varied quantities in the format of --vary, such as batch=2,3.
func varied(p Recorded) []string {
	var out []string
	for _, q := range p.Names {
		var values []string
		for _, at := range p.Sizes {
			if v := fmt.Sprint(at[q]); !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
		out = append(out, q+"="+strings.Join(values, ","))
	}
	return out
}

// isSize reports whether a quantity is a setting.
func isSize(name string) bool {
	x := Find(name)
	return x != nil && x.Has(Size)
}

// size returns a quantity of the setup; 0 if it is not given.
func (s *Setup) size(name string) int {
	if isSize(name) {
		return Find(name).Value(s).(int)
	}
	return s.Sizes[name]
}

// At returns the size of the run, in the quantities that its profile varies.
func (s *Setup) At() map[string]int64 {
	at := map[string]int64{}
	for _, q := range s.Model.Program.Recorded().Names {
		at[q] = int64(s.size(q))
	}
	return at
}
