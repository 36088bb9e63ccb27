// SPDX-License-Identifier: Apache-2.0

package allocator

import "errors"

// PyTorch's allocator examines blocks one by one when it grows expandable segments, empties its cache or collects
// garbage, and so does this one. A run has hundreds of blocks. A crafted file can have hundreds of thousands, and
// have all of them examined at every event. So the work is counted and limited.

// maxWork is the limit, which takes several seconds to reach. Recordings of a million events take a thousandth of it,
// with any options.
const maxWork = 1 << 28

var errTooMuchWork = errors.New("too many free blocks: this is not a real training run, and would take hours")

// worker is a Device that counts its own work.
type worker interface{ Looked() uint64 }

// Looked returns the number of free addresses examined to place segments.
func (d *Driver) Looked() uint64 { return d.work }

// checkWork returns an error once the work limit is reached.
func (a *Allocator) checkWork() error {
	work := a.work
	if d, ok := a.dev.(worker); ok {
		work += d.Looked()
	}
	if work > maxWork {
		return errTooMuchWork
	}
	return nil
}
