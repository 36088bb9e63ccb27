// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"cmp"

	"snug/internal/allocator"
	"snug/internal/setup"
)

// loadedRoom is the memory of a card that any model fits on; only the memory that loading leaves unused is of
// interest.
const loadedRoom = 1 << 50

// loadOnto is from_pretrained with a device_map: it copies the weights to the card one by one, into memory that
// caching_allocator_warmup reserves first.
func (r *run) loadOnto() error {
	unused, err := r.unused()
	if err != nil {
		return err
	}
	r.builder.LoadToCard(unused)
	return nil
}

// unused returns the bytes that PyTorch has reserved so far but does not use.
func (r *run) unused() (uint64, error) {
	v, err := allocator.ParseVersion(cmp.Or(r.s.Versions.Torch, setup.NewestTorch))
	if err != nil {
		return 0, err
	}
	opt, err := allocator.ParseOptions(r.s.Allocator, v)
	if err != nil {
		return 0, err
	}
	a, err := allocator.New(allocator.NewDriver(loadedRoom, 0), v, opt)
	if err != nil {
		return 0, err
	}
	if _, err := a.Play(r.w.Trace, allocator.PlayOptions{}); err != nil {
		return 0, err
	}
	stats := a.Stats()
	return uint64(stats.ReservedBytes.All.Current - stats.AllocatedBytes.All.Current), nil
}
