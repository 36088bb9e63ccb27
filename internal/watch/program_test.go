// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"math"
	"math/rand/v2"

	"snug/internal/allocator"
)

// program is a training program. Its allocations are played through the simulated allocator of PyTorch, so that
// reserved memory, flushes of the cache and the step at which memory runs out are what PyTorch would have.
type program struct {
	seed     uint64
	card     int64                              // memory of the card
	limit    int64                              // cap; 0 means none
	steps    int                                // steps of the run
	pace     float64                            // seconds of a step with a full batch
	sampled  float64                            // seconds between samples of the card; 0 means none
	stays    float64                            // parameters, gradients and optimizer states, as a fraction of the available memory
	takes    float64                            // activations of a full batch
	outputs  float64                            // logits of a full batch, which live until the next forward
	square   float64                            // fraction of the activations that grows with the square of the length
	shape    func(step int, r *rand.Rand) []int // shape of a batch; nil means always full
	hidden   bool                               // shapes are not reported
	keeps    func(step, size int) float64       // memory that a step keeps, as a fraction of the available memory
	pieces   int                                // tensors that keeps is split into
	midway   bool                               // the kept tensors are allocated in the forward pass, not after the step
	evaluate int                                // steps between evaluations
	batches  int                                // batches of an evaluation
	larger   float64                            // size of an evaluation batch, relative to a full batch
	collects float64                            // outputs that an evaluation collects per batch and frees at its end
	evalKeep float64                            // memory that each evaluation keeps
	save     int                                // steps between checkpoints, which copy the weights for a moment
	churn    float64                            // memory in tensors that live for a random number of steps
	lives    float64                            // mean life of these tensors, in steps
	grows    func(step int) float64             // further memory that is in use at a step, as a fraction
	context  int64                              // memory outside of the allocator
}

const fullBatch, fullLength = 8, 512

// machine is a program at work.
type machine struct {
	program
	r       *rand.Rand
	a       *allocator.Allocator
	room    float64
	events  []Event
	t, next float64
	failed  bool
	states  []allocator.Ref
	last    allocator.Ref // outputs of the last step
	more    []allocator.Ref
	churned []living
	step    int
}

type living struct {
	ref  allocator.Ref
	ends int
}

const layersOfProgram = 6

// run returns the events of the program, and the step at which memory ran out, or 0.
func (p program) run() ([]Event, int) {
	m := &machine{program: p, r: rand.New(rand.NewPCG(p.seed, 11))}
	if m.context == 0 {
		m.context = 520 << 20
	}
	room := p.card - m.context
	if p.limit > 0 {
		room = min(room, p.limit)
	}
	m.room = float64(room)
	var err error
	if m.a, err = allocator.New(&allocator.Simple{Total: uint64(room)}, allocator.Latest, allocator.DefaultOptions()); err != nil {
		panic(err)
	}
	m.add(Event{Kind: KindStart, Total: p.card, PID: 1})
	if p.limit > 0 {
		m.add(Event{Kind: KindLimit, Limit: p.limit, PID: 1})
	}
	m.tick(3)
	m.load()
	for m.step = 1; m.step <= p.steps && !m.failed; m.step++ {
		m.train()
		if !m.failed && p.evaluate > 0 && m.step%p.evaluate == 0 {
			m.evaluation()
		}
	}
	at := 0
	if m.failed {
		at = m.step - 1
		m.add(Event{Kind: KindOOM, PID: 1, Message: "CUDA out of memory"})
	}
	m.add(Event{Kind: KindEnd})
	return m.events, at
}

func (m *machine) add(e Event) { e.T = m.t; m.events = append(m.events, e) }

// tick advances the clock, and samples the card when it is due.
func (m *machine) tick(seconds float64) {
	end := m.t + seconds
	for m.sampled > 0 && m.next <= end {
		m.t = m.next
		used := int64(m.a.Reserved()) + m.context
		util := 97.0
		if len(m.states) == 0 {
			util, used = 0, min(used, m.context)
		}
		m.add(Event{Kind: KindGPU, GPU: GPU{Used: used + 600<<20, Total: m.card + 600<<20, Reserved: 0, Util: &util, Procs: []Process{{PID: 1, Used: used}}}})
		m.next += m.sampled
	}
	m.t = end
}

func (m *machine) alloc(part float64) allocator.Ref {
	n := uint64(part * m.room)
	if n == 0 || m.failed {
		return allocator.Null
	}
	ref, err := m.a.Alloc(n, 0)
	if err != nil {
		m.failed = true
		return allocator.Null
	}
	return ref
}

func (m *machine) free(refs ...allocator.Ref) {
	for _, ref := range refs {
		if ref != allocator.Null {
			if err := m.a.Free(ref); err != nil {
				panic(err)
			}
		}
	}
}

// load allocates the parameters: a quarter of what stays. An embedding takes a fifth of them.
func (m *machine) load() {
	m.alloc(m.stays / 4 * 0.2)
	for range layersOfProgram {
		for _, part := range []float64{0.25, 0.08, 0.33, 0.33, 0.01} {
			m.alloc(m.stays / 4 * 0.8 / layersOfProgram * part)
		}
	}
}

// each calls f with the size of each parameter.
func (m *machine) each(f func(part float64)) {
	f(m.stays / 4 * 0.2)
	for range layersOfProgram {
		for _, part := range []float64{0.25, 0.08, 0.33, 0.33, 0.01} {
			f(m.stays / 4 * 0.8 / layersOfProgram * part)
		}
	}
}

// sizeOf returns the size of a batch relative to a full one, and its length.
func sizeOf(shape []int) (size, length float64) {
	size = 1
	for _, n := range shape {
		size *= float64(n)
	}
	return size / (fullBatch * fullLength), float64(shape[len(shape)-1]) / fullLength
}

// activations returns the activations of one layer, relative to the whole model's for a full batch.
func (m *machine) activations(shape []int) []float64 {
	size, length := sizeOf(shape)
	linear, square := m.takes*(1-m.square)/layersOfProgram*size, m.takes*m.square/layersOfProgram*size*length
	out := []float64{0.1 * linear, 0.3 * linear, 0.1 * linear, 0.4 * linear, 0.1 * linear}
	if square > 0 {
		out = append(out, square)
	}
	return out
}

func (m *machine) forward(shape []int, saves bool) [][]allocator.Ref {
	var saved [][]allocator.Ref
	for range layersOfProgram {
		var refs []allocator.Ref
		for _, part := range m.activations(shape) {
			refs = append(refs, m.alloc(part))
		}
		temporary := m.alloc(m.activations(shape)[0])
		m.free(temporary)
		if saves {
			saved = append(saved, refs)
		} else {
			m.free(refs...)
		}
	}
	return saved
}

func (m *machine) train() {
	shape := []int{fullBatch, fullLength}
	if m.shape != nil {
		shape = m.shape(m.step, m.r)
	}
	size, _ := sizeOf(shape)
	m.churnOn()
	kept := 0.0
	if m.keeps != nil {
		kept = m.keeps(m.step, shape[0]*shape[len(shape)-1])
	}
	saved := m.forward(shape, true)
	if m.midway {
		m.keep(kept)
	}
	m.free(m.last)
	m.last = m.alloc(m.outputs * size)
	var grads []allocator.Ref
	i := 0
	m.each(func(part float64) {
		grads = append(grads, m.alloc(part))
		if i%5 == 4 && len(saved) > 0 {
			n := len(saved) - 1
			m.free(m.alloc(m.activations(shape)[0]))
			m.free(saved[n]...)
			saved = saved[:n]
		}
		i++
	})
	for _, refs := range saved {
		m.free(refs...)
	}
	if len(m.states) == 0 {
		m.each(func(part float64) { m.states = append(m.states, m.alloc(part), m.alloc(part)) })
	}
	if m.grows != nil {
		m.follow(m.grows(m.step))
	}
	if m.failed {
		return
	}
	m.tick(m.pace * (0.3 + 0.7*size) * (1 + 0.03*m.r.NormFloat64()))
	m.report(Train, shape)
	m.free(grads...)
	if m.save > 0 && m.step%m.save == 0 {
		var copies []allocator.Ref
		m.each(func(part float64) { copies = append(copies, m.alloc(part)) })
		m.free(copies...)
		m.tick(2)
	}
	if !m.midway {
		m.keep(kept)
	}
}

// keep allocates memory that is never freed.
func (m *machine) keep(part float64) {
	n := max(1, m.pieces)
	for range n {
		m.alloc(part / float64(n))
	}
}

// follow allocates or frees tensors until those in more take this fraction of the available memory.
func (m *machine) follow(part float64) {
	const piece = 0.0005
	for float64(len(m.more))*piece < part {
		m.more = append(m.more, m.alloc(piece))
	}
	for n := len(m.more); n > 0 && float64(n-1)*piece > part; n-- {
		m.free(m.more[n-1])
		m.more = m.more[:n-1]
	}
}

// churnOn replaces some of the tensors that live for a while.
func (m *machine) churnOn() {
	if m.churn == 0 {
		return
	}
	var stay []living
	for _, x := range m.churned {
		if x.ends <= m.step {
			m.free(x.ref)
		} else {
			stay = append(stay, x)
		}
	}
	m.churned = stay
	const each = 4
	born := m.poisson(each)
	if m.step == 1 { // as if the run had been going on for a while
		born = int(each * m.lives)
	}
	for range born {
		part := m.churn / (each * m.lives) * 2 * m.r.Float64()
		m.churned = append(m.churned, living{m.alloc(part), m.step + 1 + int(m.r.ExpFloat64()*m.lives)})
	}
}

func (m *machine) poisson(mean float64) int {
	n, limit, p := 0, math.Exp(-mean), m.r.Float64()
	for p > limit {
		n++
		p *= m.r.Float64()
	}
	return n
}

func (m *machine) evaluation() {
	shape := []int{max(1, int(fullBatch*m.larger)), fullLength}
	var collected []allocator.Ref
	for range m.batches {
		m.forward(shape, false)
		size, _ := sizeOf(shape)
		m.free(m.last)
		m.last = m.alloc(m.outputs * size)
		collected = append(collected, m.alloc(m.collects))
		if m.failed {
			return
		}
		m.tick(m.pace * 0.3 * size)
		m.report(Eval, shape)
	}
	m.free(collected...)
	m.alloc(m.evalKeep)
}

func (m *machine) report(phase Phase, shape []int) {
	s := m.a.Stats()
	x := Step{N: m.step, Phase: phase, Shape: shape, Allocated: int64(s.AllocatedBytes.All.Current), Reserved: int64(s.ReservedBytes.All.Current), PeakAllocated: int64(s.AllocatedBytes.All.Peak), PeakReserved: int64(s.ReservedBytes.All.Peak), Retries: int(s.AllocRetries)}
	if m.hidden {
		x.Shape = nil
	}
	m.add(Event{Kind: KindStep, PID: 1, Step: x})
	m.a.ResetPeak()
}
