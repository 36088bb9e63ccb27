// SPDX-License-Identifier: Apache-2.0

package train

import "snug/internal/shadow"

// Lion, as in lion-pytorch.

type lion struct {
	w      *shadow.World
	params []*shadow.Tensor
	avg    map[*shadow.Tensor]*shadow.Tensor
}

func newLion(w *shadow.World, params []*shadow.Tensor) Optimizer {
	return &lion{w: w, params: params, avg: map[*shadow.Tensor]*shadow.Tensor{}}
}

// Step is exp_avg.clone().mul_(b).add(grad).sign_() for one parameter after another. Each state is allocated just
// before its first update.
func (l *lion) Step() {
	defer l.w.NoGrad()()
	for _, p := range withGrad(l.params) {
		if l.avg[p] == nil {
			l.avg[p] = zerosLike(p, p.DType())
		}
		l.avg[p].Clone().Add(p.Grad()).Drop()
	}
}

// States returns each parameter's average, or none if it has not been updated yet.
func (l *lion) States() [][]*shadow.Tensor { return statesOf(l.params, l.avg) }

// Replace replaces the averages.
func (l *lion) Replace(states [][]*shadow.Tensor) { replaceOf(l.params, l.avg, states) }
