// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"errors"

	"snug/internal/script"
	"snug/internal/setup"
)

// noUpdate is the error for a script in which no optimizer update was found.
type noUpdate struct{ error }

func (e noUpdate) Unwrap() error { return e.error }

// noGradient is the error for a script in which no parameter gets a gradient.
type noGradient struct{ error }

func (e noGradient) Unwrap() error { return e.error }

// fewerMicros returns the setup with fewer micro-batches per update, if its script is too long to follow with all of
// them; else nil. As in snug's own loop, the micro-batches after the first few make the same allocations.
func fewerMicros(s *setup.Setup, err error) *setup.Setup {
	long := errors.Is(err, ErrTooLong) || errors.Is(err, script.ErrTooLong) || errors.As(err, new(noUpdate))
	if !long || !Follows(s) || s.Lengths != nil || s.Accumulation <= Settled {
		return nil
	}
	few := *s
	few.Accumulation = Settled
	return &few
}

// inAll returns the number of backward passes per update of a script that was followed with n, which may be
// fewer.
func (o *Options) inAll(n int) int {
	if o.whole != nil && n == Settled {
		return o.whole.Accumulation
	}
	return n
}
