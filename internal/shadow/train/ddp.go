// SPDX-License-Identifier: Apache-2.0

package train

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// DistributedDataParallel (torch/nn/parallel/distributed.py and torch/csrc/distributed/c10d/reducer.cpp,
// 2.11).
//
// Gradients are copied into flat buckets as they arrive, and each full bucket is reduced over all
// processes. The first backward has one bucket per element type. Before the second forward the buckets
// are rebuilt in the order in which the gradients arrived, with a small one first.
//
// One thing depends on timing: every 100 ms, the NCCL process group's watchdog checks for collectives that have
// ended and releases their tensors. If the second forward starts sooner, the first buckets are still alive when
// the new ones are made (Late). That happened in 5 of 25 measured runs, and repeating a run can change it.

const (
	ddpBroadcastBytes = 250 << 20 // limit on the flat copies in which states are broadcast
	ddpFirstBytes     = 1 << 20   // size of the first bucket to fill
	ddpBucketBytes    = 25 << 20  // bucket_cap_mb
	ddpInFlight       = 2         // concurrent broadcasts
)

// DDP is DistributedDataParallel around a model.
type DDP struct {
	w       *shadow.World
	world   int
	view    bool // gradient_as_bucket_view
	params  []*shadow.Tensor
	buffers []*shadow.Tensor
	buckets []*bucket
	of      map[*shadow.Tensor]*bucket
	ready   []*shadow.Tensor // parameters in the order in which the first backward's gradients arrived
	rebuilt bool

	Late bool      // the watchdog runs after the second forward has begun
	late []*bucket // buckets that the watchdog has not released yet
}

// bucket is a flat tensor in which gradients are reduced.
type bucket struct {
	flat   *shadow.Tensor
	params []*shadow.Tensor
	filled int // parameters whose gradients have arrived
}

// NewDDP wraps a model for the given number of processes: it compares shapes, broadcasts parameters and buffers,
// and makes the first buckets.
func NewDDP(b *nn.Builder, world int, bucketView bool) *DDP {
	d := &DDP{w: b.W, world: world, view: bucketView, params: b.Trainable(), buffers: b.Buffers()}
	defer d.w.NoGrad()()
	d.verify(world)
	broadcastCoalesced(d.w, append(b.Parameters(), d.buffers...))
	d.fill(reversed(assignBuckets(d.params)))
	d.w.OnGrad(d.reduce)
	d.w.OnBackward(d.w.Transferred)
	return d
}

// Forward runs the wrapper's forward around the model's.
func (d *DDP) Forward(run func() *shadow.Tensor) *shadow.Tensor {
	d.letGo(d.late)
	d.late = nil
	if len(d.ready) > 0 && !d.rebuilt {
		d.rebuild()
	}
	broadcastCoalesced(d.w, d.buffers)
	return run()
}

// verify is verify_params_across_processes: the number of parameters is
// gathered from every process, then the first process sends its sizes and strides.
func (d *DDP) verify(world int) {
	w := d.w
	counts := []*shadow.Tensor{w.Empty(shadow.Dims(), shadow.Int64).Hold()}
	for range world {
		counts = append(counts, w.Empty(shadow.Dims(1), shadow.Int64).Hold())
	}
	w.Scratch(uint64(world) * shadow.Int64.Bytes())
	dims := 0
	for _, p := range d.params {
		dims += p.Dim()
	}
	w.Scratch(2 * uint64(dims) * shadow.Int64.Bytes())
	dropList(counts)
}

// broadcastCoalesced is broadcast_coalesced: each bucket is copied into a flat tensor, which is freed once it has
// been sent. A bucket of one tensor needs no copy.
func broadcastCoalesced(w *shadow.World, ts []*shadow.Tensor) {
	var flying []*shadow.Tensor
	for _, bucket := range assignBuckets(ts, ddpBroadcastBytes) {
		if len(flying) == ddpInFlight {
			flying[0].Drop()
			flying = flying[1:]
		}
		flying = append(flying, flatten(w, bucket))
	}
	for _, t := range flying {
		t.Drop()
	}
}

// flatten returns a flat copy of tensors of one type.
func flatten(w *shadow.World, ts []*shadow.Tensor) *shadow.Tensor {
	if len(ts) == 1 {
		return ts[0].Detach().Hold()
	}
	w.Op("cat")
	return w.Empty(shadow.Dims(numelOf(ts)), ts[0].DType()).Hold()
}

func numelOf(ts []*shadow.Tensor) int {
	n := 0
	for _, t := range ts {
		n += t.Numel()
	}
	return n
}

// fill is initialize_buckets. An existing gradient is moved into its new
// bucket.
func (d *DDP) fill(groups [][]*shadow.Tensor) {
	old := d.buckets
	d.buckets, d.of = nil, map[*shadow.Tensor]*bucket{}
	if d.Late && d.rebuilt {
		d.late = old
	} else {
		d.letGo(old)
	}
	defer d.w.As(shadow.Gradients)()
	for _, group := range groups {
		d.w.Op("empty")
		b := &bucket{flat: d.w.Empty(shadow.Dims(numelOf(group)), group[0].DType()).Hold(), params: group}
		d.buckets = append(d.buckets, b)
		for _, p := range group {
			d.of[p] = b
			if d.view && p.Grad() != nil {
				p.LayGradInto(b.flat)
			}
		}
	}
}

func (d *DDP) letGo(buckets []*bucket) {
	for _, b := range buckets {
		b.flat.Drop()
	}
}

// rebuild is rebuild_buckets: the processes agree on the first process's order, then the old buckets are
// replaced.
func (d *DDP) rebuild() {
	d.rebuilt = true
	groups := assignBuckets(d.ready, ddpFirstBytes, ddpBucketBytes)
	indices := d.w.Empty(shadow.Dims(len(d.ready)+1), shadow.Int32).Hold()
	sizes := d.w.Empty(shadow.Dims(len(groups)), shadow.Int32).Hold()
	sizes.Drop()
	indices.Drop()
	d.fill(groups)
}

// reduce is the hook on AccumulateGrad: the gradient is copied into its bucket,
// or becomes a view of it. A full bucket is reduced while the backward continues.
func (d *DDP) reduce(p *shadow.Tensor) {
	b := d.of[p]
	if b == nil {
		return
	}
	if !d.rebuilt {
		d.ready = append(d.ready, p)
	}
	d.w.Launch(p.Grad(), p.Grad())
	if d.view && !p.Grad().SharesStorage(b.flat) {
		p.LayGradInto(b.flat)
	}
	if b.filled++; b.filled == len(b.params) {
		b.filled = 0
		d.w.AllReduce(b.flat.Bytes(), d.world)
	}
}

// assignBuckets is compute_bucket_assignment_by_size: tensors of one type fill a bucket until it reaches its
// limit. The last limit applies to all further buckets; without limits, one bucket contains everything.
func assignBuckets(ts []*shadow.Tensor, limits ...uint64) [][]*shadow.Tensor {
	type filling struct {
		at    int // index in out
		bytes uint64
		limit int
		open  bool
	}
	var out [][]*shadow.Tensor
	of := map[shadow.DType]*filling{}
	for _, t := range ts {
		f := of[t.DType()]
		if f == nil {
			f = &filling{}
			of[t.DType()] = f
		}
		if !f.open {
			f.open, f.at, f.bytes = true, len(out), 0
			out = append(out, nil)
		}
		out[f.at] = append(out[f.at], t)
		f.bytes += t.Bytes()
		if len(limits) > 0 && f.bytes >= limits[f.limit] {
			f.open = false
			f.limit = min(f.limit+1, len(limits)-1)
		}
	}
	return out
}

func reversed(groups [][]*shadow.Tensor) [][]*shadow.Tensor {
	out := make([][]*shadow.Tensor, 0, len(groups))
	for i := len(groups) - 1; i >= 0; i-- {
		out = append(out, groups[i])
	}
	return out
}
