// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"errors"
	"slices"
)

// worstCase combines the causes. They are not added up; only the worst counts.
type worstCase struct {
	peak  func(*Program) (uint64, error)
	plain *Program // the predicted program

	base      uint64 // bytes that plain reserves; 0 until computed
	low, high uint64 // lowest and highest peak among the plans
	residual  Residual
	causes    []Cause
	err       error
}

func (w *worstCase) because(c Cause) {
	if !slices.Contains(w.causes, c) {
		w.causes = append(w.causes, c)
	}
}

// known adds a cause that needs no planning. is reports whether the cause applies.
func (w *worstCase) known(c Cause, r Residual, is bool) {
	if is {
		w.residual = w.residual.Or(r)
		w.because(c)
	}
}

// plan widens the range to include the peaks of other programs.
func (w *worstCase) plan(c Cause, programs []*Program) {
	low, high := w.ends(programs)
	if high-low > matters {
		w.because(c)
	}
	w.low, w.high = min(w.low, low), max(w.high, high)
}

// guess applies the usual error of guesses, if they affect the peak.
func (w *worstCase) guess(programs []*Program) {
	low, high := w.ends(programs)
	w.known(Workspaces, residuals().Guessed, high-low > matters)
}

// ends returns the lowest and the highest peak of the programs and the prediction. A program that needs more than any
// memory is skipped, because no run could do that.
func (w *worstCase) ends(programs []*Program) (low, high uint64) {
	if len(programs) > 0 {
		w.begin()
	}
	low, high = w.base, w.base
	for _, q := range programs {
		if w.err != nil {
			break
		}
		got, err := w.peak(q)
		switch {
		case errors.Is(err, ErrTooLarge):
		case err != nil:
			w.err = err
		default:
			low, high = min(low, got), max(high, got)
		}
	}
	return low, high
}

// begin plays the prediction itself, on the first call.
func (w *worstCase) begin() {
	if w.base == 0 && w.err == nil {
		w.base, w.err = w.peak(w.plain)
		w.low, w.high = w.base, w.base
	}
}

func (w *worstCase) margin() (Margin, error) {
	if w.residual != (Residual{}) {
		w.begin()
	}
	return Margin{
		Less:   max(w.base-w.low, uint64(-w.residual.Low*float64(w.base))),
		More:   max(w.high-w.base, uint64(w.residual.High*float64(w.base))),
		Causes: w.causes,
	}, w.err
}
