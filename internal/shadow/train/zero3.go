// SPDX-License-Identifier: Apache-2.0

package train

import (
	"slices"

	"snug/internal/kernel"
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// Zero3 is DeepSpeed's stage 3 (stage3.py, partition_parameters.py and partitioned_param_coordinator.py):
// a process has its part of every parameter. A module's own parameters are gathered before it runs and freed
// afterwards, except small ones, which are kept. From the second step on, when the order of modules is known,
// parameters that are needed again soon are not freed. What is gathered ahead of time, in a trainer that
// a script uses, is in zero3_prefetch.go; snug's own step gathers nothing ahead.
type Zero3 struct {
	zero
	gather  uint16 // stream of the gathered parameters
	scatter uint16 // stream that reduces gradients
	modules []*zeroModule
	at      map[string]*zeroModule // modules by path
	order   []*zeroModule          // modules in the order of the first forward
	learned bool
	users   map[*shadow.Tensor]int // how many modules have gathered a parameter
	root    *zeroModule            // the model itself, with parameters of other modules that its forward uses
	trained bool
	next    prefetcher
}

const (
	zeroPersistence = 100_000       // param_persistence_threshold, in elements
	zeroReuse       = 1_000_000_000 // max_reuse_distance, in elements
	zeroGroup       = 1_000_000_000 // sub_group_size, in elements of a process
)

// zeroModule is a module with its own parameters.
type zeroModule struct {
	z      *Zero3
	params []*shadow.Tensor // parameters that are gathered and freed
	live   bool
	again  bool // its backward has begun
	after  int  // elements that later modules use in forward
}

// NewZero3 partitions a model parameter by parameter, then copies all parts into one flat tensor via the CPU.
// Under zero.Init each parameter is allocated here, and is freed once its part is copied.
func NewZero3(b *nn.Builder, world int) *Zero3 {
	z, parts := partition(b, world)
	w := z.w
	z.params, z.keeps, z.trained = b.Trainable(), true, true
	for _, p := range z.params {
		n := kernel.CeilDiv(p.Numel(), world)
		z.partition += n
		z.slices = append(z.slices, n)
	}
	dropList(parts)
	z.flat(shadow.Parameters, numelOf(parts), z.dtype)
	z.addMasters(shadow.Float32, groupsOf(z.slices)...)
	z.bucket = z.flat(shadow.Gradients, zeroBucket, z.dtype)
	z.averaged = z.flat(shadow.Gradients, z.partition, z.dtype)
	w.OnGrad(func(p *shadow.Tensor) { z.collect(p, z.reduce) })
	w.OnBackward(z.finish)
	return z
}

// NewZero3Frozen partitions a model that is not trained (DeepSpeedZeRoOffload). Its parts stay where they are, and what is
// gathered for a module is freed as soon as the module has run.
func NewZero3Frozen(b *nn.Builder, world int) *Zero3 {
	z, _ := partition(b, world)
	return z
}

// partition replaces a model's parameters with this process's parts of them, which it returns. Small parameters stay whole,
// next to their parts.
func partition(b *nn.Builder, world int) (z *Zero3, parts []*shadow.Tensor) {
	w := b.W
	z = &Zero3{zero: zero{w: w, world: world}, gather: w.Trace.Queue(1), scatter: w.Trace.Queue(2)}
	z.users = map[*shadow.Tensor]int{}
	z.at = map[string]*zeroModule{}
	z.root = &zeroModule{z: z}
	defer w.As(shadow.Parameters)()
	for _, p := range b.Parameters() {
		z.dtype = p.DType()
		p.Fill()
		parts = append(parts, w.Empty(shadow.Dims(kernel.CeilDiv(p.Numel(), world)), p.DType()).Hold())
		if p.Numel() > zeroPersistence {
			p.ToMeta()
			z.add(nn.OwnerOf(p.Name()), p)
			w.OnRead(p, func() { z.read(p) })
		}
	}
	for _, t := range b.Ties() {
		z.add(t.At, t.To)
	}
	return z, parts
}

// groupsOf returns the sizes of the groups of parameters that are updated one after the other: a group is full once it
// has zeroGroup elements.
func groupsOf(parts []int) (out []int) {
	n := 0
	for i, part := range parts {
		if n += part; n >= zeroGroup || i == len(parts)-1 {
			out, n = append(out, n), 0
		}
	}
	return out
}

// add adds a parameter to the module at a path.
func (z *Zero3) add(at string, p *shadow.Tensor) {
	m := z.at[at]
	if m == nil {
		m = &zeroModule{z: z}
		z.at[at] = m
		z.w.Wrap(at, m)
		z.modules = append(z.modules, m)
	}
	m.params = append(m.params, p)
}

// Forward runs the model.
func (z *Zero3) Forward(run func() *shadow.Tensor) *shadow.Tensor { return around(z, run) }

// learn records how much later modules use, once the first forward has shown their order.
func (z *Zero3) learn() {
	z.learned = true
	after := 0
	for i := len(z.order) - 1; i >= 0; i-- {
		z.order[i].after = after
		after += numelOf(z.order[i].params)
	}
}

// PreForward gathers the module's parameters. They are no longer needed when x's gradient arrives.
func (m *zeroModule) PreForward(x *shadow.Tensor) *shadow.Tensor {
	m.fetch()
	if m.again {
		return x
	}
	if !m.z.learned {
		m.z.order = append(m.z.order, m)
	}
	return x.AfterGrad("PostBackwardFunctionModuleBackward", m.release)
}

// PostForward frees the parameters unless backward needs them within the reuse distance.
func (m *zeroModule) PostForward(out *shadow.Tensor) {
	if m.again {
		return
	}
	if !m.z.learned || !m.z.trained || 2*m.after >= zeroReuse {
		m.release()
	}
	out.BeforeBackward(func() {
		m.again = true
		m.fetch()
	})
}

// read gathers a parameter that the model's own forward uses (ZeROOrderedDict). From then on it belongs to the model, like
// the parameters of a module.
func (z *Zero3) read(p *shadow.Tensor) {
	if slices.Contains(z.root.params, p) {
		return
	}
	z.root.params, z.root.live = append(z.root.params, p), true
	if z.users[p]++; z.users[p] > 1 || z.present(p) {
		return
	}
	p.ResizeStorage(kernel.CeilDiv(p.Numel(), z.world) * z.world)
	z.w.Gather(p.Bytes(), z.world)
	z.w.Gathered()
}

// Enter is the hook before the forward of the model itself, and Leave the one after it, with its result.
func (z *Zero3) Enter() {
	if len(z.root.params) > 0 {
		z.root.fetch()
	}
}

// Leave frees what Enter gathered, unless a backward needs it soon.
func (z *Zero3) Leave(out *shadow.Tensor) {
	if !z.trained || !z.learned || !z.w.GradEnabled() {
		z.root.release()
	}
	if !z.learned {
		z.learn()
	}
	if !z.trained {
		z.reset()
	}
	if out == nil || !z.trained {
		return
	}
	out.BeforeBackward(func() { z.Enter() })
}

// fetch gathers the parameters that no other module has gathered: a single one directly into
// its memory, several through a flat tensor.
func (m *zeroModule) fetch() {
	defer m.z.fetched(m)
	if m.live {
		return
	}
	m.live = true
	z, w := m.z, m.z.w
	var absent []*shadow.Tensor
	flat := 0
	for _, p := range m.params {
		if z.users[p]++; z.users[p] == 1 && !z.present(p) {
			absent = append(absent, p)
			flat += kernel.CeilDiv(p.Numel(), z.world) * z.world
			z.next.live += p.Numel()
		}
	}
	if len(absent) == 0 {
		return
	}
	w.OnQueue(z.gather, shadow.Parameters, func() {
		w.Op("all_gather_coalesced")
		var through *shadow.Tensor
		if len(absent) > 1 {
			through = w.Empty(shadow.Dims(flat), z.dtype).Hold()
		}
		for _, p := range absent {
			p.ResizeStorage(p.Numel())
		}
		through.Drop()
	})
	w.Gather(uint64(flat)*z.dtype.Bytes(), z.world)
	w.Gathered()
}

// release frees the parameters that no other module needs.
func (m *zeroModule) release() {
	if !m.live {
		return
	}
	m.live = false
	for _, p := range m.params {
		if m.z.users[p]--; m.z.users[p] == 0 && !m.z.keepsAhead(p) {
			p.FreeStorage()
			m.z.next.live -= p.Numel()
		}
	}
}

// reduce sums the bucket, through a copy with its parts in order, and adds this process's part to its gradients.
func (z *Zero3) reduce() {
	z.w.OnQueue(z.scatter, shadow.Gradients, func() {
		if len(z.filled) > 1 {
			z.w.Scratch(uint64(z.elements) * z.dtype.Bytes())
		}
	})
	z.w.ReduceScatter(uint64(z.elements)*z.dtype.Bytes(), z.world)
	ZeroGrad(z.filled)
	z.filled, z.elements = nil, 0
}

// finish ends a backward and frees everything still gathered.
func (z *Zero3) finish() {
	z.reduce()
	for _, m := range append(z.modules, z.root) {
		m.release()
		m.again = false
	}
	z.reset()
	z.w.Transferred()
}
