// SPDX-License-Identifier: Apache-2.0

package train

import (
	"snug/internal/kernel"
	"snug/internal/shadow"
)

// ZeRO-3's prefetching (partitioned_param_coordinator.py: _fetch_sub_module_impl, 0.19). Once a step has shown the order in which
// modules need their parameters, each module's hook also gathers parameters that later modules need: up to 50 million elements,
// through a flat tensor that is copied apart when the first of them is needed. Nothing is gathered ahead while a billion elements
// are there. A parameter that is already there is passed over; it is then kept until its later use.

const (
	zeroPrefetch = 50_000_000    // prefetch_bucket_size, in elements
	zeroLive     = 1_000_000_000 // max_live_parameters, in elements
)

// prefetcher is what ZeRO-3 gathers ahead.
type prefetcher struct {
	on     bool
	calls  []*zeroModule                 // modules that this step has fetched so far
	trace  []*zeroModule                 // modules that the last step fetched, in order
	queue  []prefetch                    // what the trace's modules need, in order
	head   int                           // queue up to here has been gathered or passed over
	at     int                           // position in trace
	flying map[*shadow.Tensor]*gathering // parameters whose memory is still a part of a flat tensor
	ahead  map[*shadow.Tensor]bool       // parameters that are there, but which no module uses at the moment
	until  map[*shadow.Tensor]int        // position in the trace of the last use that was passed over
	live   int                           // elements that are there
}

// prefetch is one use of a parameter.
type prefetch struct {
	p  *shadow.Tensor
	at int
}

// gathering is a flat tensor of parameters gathered ahead.
type gathering struct {
	flat   *shadow.Tensor
	params []*shadow.Tensor
}

// Prefetches turns prefetching on.
func (z *Zero3) Prefetches() {
	z.next = prefetcher{on: true, flying: map[*shadow.Tensor]*gathering{}, ahead: map[*shadow.Tensor]bool{}, until: map[*shadow.Tensor]int{}}
}

// present reports whether a parameter needs no gathering, and lands it if it was gathered ahead.
func (z *Zero3) present(p *shadow.Tensor) bool {
	if z.next.flying[p] != nil {
		z.land(z.next.flying[p])
	}
	if !z.next.ahead[p] {
		return false
	}
	delete(z.next.ahead, p)
	return true
}

// land copies a flat tensor apart.
func (z *Zero3) land(g *gathering) {
	z.w.OnQueue(z.gather, shadow.Parameters, func() {
		for _, p := range g.params {
			delete(z.next.flying, p)
			z.next.ahead[p] = true
			if g.flat != nil {
				p.ResizeStorage(p.Numel())
			}
		}
		g.flat.Drop()
	})
}

// fetched is called after a module's parameters have been gathered. It gathers parameters for later modules.
func (z *Zero3) fetched(m *zeroModule) {
	n := &z.next
	if !n.on {
		return
	}
	n.calls = append(n.calls, m)
	if n.at < len(n.trace) && n.trace[n.at] == m {
		n.at++
	}
	for n.head < len(n.queue) && n.queue[n.head].at < n.at {
		n.head++
	}
	var params []*shadow.Tensor
	numel, room := 0, min(zeroLive-n.live, zeroPrefetch)
	chosen := map[*shadow.Tensor]bool{}
	for ; n.head < len(n.queue) && numel < room; n.head++ {
		use := n.queue[n.head]
		switch p := use.p; {
		case z.users[p] > 0 || n.ahead[p] || n.flying[p] != nil || chosen[p]:
			n.until[p] = use.at
		default:
			chosen[p] = true
			params, numel = append(params, p), numel+p.Numel()
		}
	}
	if len(params) > 0 {
		z.gatherAhead(params)
	}
}

// gatherAhead gathers parameters that are not needed yet.
func (z *Zero3) gatherAhead(params []*shadow.Tensor) {
	g, numel := &gathering{params: params}, 0
	for _, p := range params {
		numel += kernel.CeilDiv(p.Numel(), z.world) * z.world
		z.next.flying[p] = g
		z.next.live += p.Numel()
	}
	z.w.OnQueue(z.gather, shadow.Parameters, func() {
		z.w.Op("all_gather_coalesced")
		if len(params) == 1 {
			params[0].ResizeStorage(params[0].Numel())
			return
		}
		g.flat = z.w.Empty(shadow.Dims(numel), z.dtype).Hold()
	})
	z.w.Gather(uint64(numel)*z.dtype.Bytes(), z.world)
}

// keepsAhead reports whether a parameter that no module uses any more is kept for a later use.
func (z *Zero3) keepsAhead(p *shadow.Tensor) bool {
	if !z.next.on || z.next.until[p] < z.next.at || z.next.until[p] == 0 {
		return false
	}
	z.next.ahead[p] = true
	return true
}

// reset ends a step: all parameters are freed, and its order of modules is what the next step is expected to follow.
func (z *Zero3) reset() {
	n := &z.next
	if !n.on {
		return
	}
	for _, use := range n.queue {
		if g := n.flying[use.p]; g != nil {
			z.land(g)
		}
		if n.ahead[use.p] {
			delete(n.ahead, use.p)
			use.p.FreeStorage()
		}
	}
	n.trace, n.calls, n.queue = n.calls, nil, n.queue[:0]
	for at, m := range n.trace {
		for _, p := range m.params {
			n.queue = append(n.queue, prefetch{p, at})
		}
	}
	n.head, n.at, n.live = 0, 0, 0
	clear(n.until)
}
