// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"fmt"
	"slices"
)

// recordedSpread returns an error if the number of GPUs, or how they share the run, differs from the recordings.
// Under DDP every GPU has the same memory use, so one process represents any number of GPUs; with sharding, memory
// depends on the number.
func (s *Setup) recordedSpread(p Recorded, name string) error {
	was := max(p.World, 1)
	switch d := s.Dist; {
	case d == nil && was == 1:
		return nil
	case d == nil && p.Kind == "":
		return Wrong("%s was recorded over %d GPUs but does not say how they shared the run; give {dist.kind} and {dist.world}, like ddp and %d", name, was, was)
	case d == nil:
		s.Dist = Over(p.Kind, was)
		return nil
	case d.Kind == DDP && (was == 1 || p.Kind == "" || p.Kind == DDP), was > 1 && d.World() == was && (p.Kind == "" || p.Kind == d.Kind):
		return nil
	}
	how := fmt.Sprintf("over %d", was)
	if p.Kind != "" {
		how = p.Kind + " " + how
	}
	return Wrong("{dist.kind} is %s over %d GPUs, but %s was recorded %s; record it with the launcher you will use, torchrun or your own",
		s.Dist.Kind, s.Dist.World(), name, how)
}

// Varies reports whether a size may differ from the recorded one. For a model that is not a profile, any size may.
func (m Model) Varies(field string) bool {
	return m.Program == nil || slices.Contains(m.Program.Recorded().Names, field)
}
