// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"math"
	"math/rand/v2"
)

// job is a training job, described by what a person would say about it. It knows nothing of the reader: its memory is the sum of its
// parts, each a fraction of the card, and PyTorch's cache is the highest sum so far. The generator in generate_test.go describes
// single effects, and the programs in program_test.go play allocations; a job combines effects and is sampled by a driver too.
type job struct {
	r       *rand.Rand
	card    int64                            // bytes
	steps   int                              // steps, if memory does not run out before
	pace    float64                          // seconds of a step with a full batch
	model   float64                          // weights, gradients and optimizer states
	needs   float64                          // what a full batch needs above them
	holds   float64                          // part of that which is still there at the end of a step: the batch, outputs, the loss
	shape   func(step int) []int             // nil means always the same batch
	hidden  bool                             // the shape is not reported
	jitter  float64                          // standard deviation of allocated memory, independent from step to step
	stays   []func(step int, s size) float64 // further memory at the end of each step
	peaks   []func(step int) float64         // further memory during a step
	cache   func(step int) float64           // cached memory that is not used
	outside func(step int) float64           // memory outside PyTorch, which only the driver sees
	other   func(t float64) float64          // memory of another process
	waits   func(step int) float64           // seconds before a step in which the GPU idles
	evals   int                              // steps between evaluations; 0 means none
	batches int                              // batches of an evaluation
	takes   float64                          // what an evaluation batch needs
	retries func(step int) int               // flushes so far
}

// size is the size of a batch relative to a full one.
type size float64

const (
	jobBatch     = 16
	jobLength    = 1024
	contextBytes = 480 << 20
)

// events plays the job. If memory runs out, oom is the step in which it does.
func (j *job) events() (events []Event, oom int) {
	const pid = 77
	capacity := float64(j.card - contextBytes)
	bytes := func(part float64) int64 { return int64(max(0, part) * capacity) }
	t, sampled := 2.0, 0.0
	reserved, outside := 0.0, 0.0
	add := func(e Event) { e.T, e.PID = t, pid; events = append(events, e) }
	sample := func(until float64, busy bool) {
		for ; sampled <= until; sampled++ {
			util := 0.0
			if busy {
				util = 94 + 6*j.r.Float64()
			}
			used := int64(contextBytes) + bytes(reserved+outside)
			g := GPU{Total: j.card, Used: used, Util: &util, Procs: []Process{{PID: pid, Used: used}}}
			if j.other != nil {
				if n := bytes(j.other(sampled)); n > 0 {
					g.Procs, g.Used = append(g.Procs, Process{PID: 99, Used: n}), g.Used+n
				}
			}
			events = append(events, Event{T: sampled, Kind: KindGPU, GPU: g})
		}
		t = max(t, until)
	}
	add(Event{Kind: KindStart, Total: j.card})
	for step := 1; step <= j.steps; step++ {
		shape := []int{jobBatch, jobLength}
		if j.shape != nil {
			shape = j.shape(step)
		}
		elements := 1
		for _, n := range shape {
			elements *= n
		}
		batch := float64(elements) / (jobBatch * jobLength)
		if j.waits != nil {
			sample(t+j.waits(step), false)
		}
		sample(t+j.pace*(0.2+0.8*batch)*(1+0.05*j.r.Float64()), true)
		allocated := j.model + j.holds*batch + math.Abs(j.jitter*j.r.NormFloat64())
		for _, f := range j.stays {
			allocated += f(step, size(batch))
		}
		peak := allocated + j.needs*batch
		for _, f := range j.peaks {
			peak = max(peak, allocated+f(step))
		}
		if j.outside != nil {
			outside = j.outside(step)
		}
		cached := 0.0
		if j.cache != nil {
			cached = j.cache(step)
		}
		others := 0.0
		if j.other != nil {
			others = j.other(t)
		}
		full := 1 - outside - others
		need := math.Ceil(peak*1.01*512) / 512                  // some memory is lost between blocks
		if need > full || j.outside != nil && reserved > full { // PyTorch's cache is not released for others
			add(Event{Kind: KindOOM, Message: "CUDA out of memory"})
			add(Event{Kind: KindEnd})
			return events, step
		}
		reserved = min(full, max(reserved, need, cached))
		s := Step{N: step, Phase: Train, Shape: shape, Allocated: bytes(allocated), PeakAllocated: bytes(peak), Reserved: bytes(reserved), PeakReserved: bytes(reserved)}
		if j.retries != nil {
			s.Retries = j.retries(step)
		}
		if j.hidden {
			s.Shape = nil
		}
		add(Event{Kind: KindStep, Step: s})
		if j.evals > 0 && step%j.evals == 0 {
			for range j.batches {
				if allocated+j.takes > full {
					add(Event{Kind: KindOOM, Message: "CUDA out of memory"})
					add(Event{Kind: KindEnd})
					return events, step
				}
				reserved = max(reserved, min(full, allocated+j.takes))
				sample(t+j.pace/3, true)
				e := s
				e.Phase, e.PeakAllocated, e.Reserved, e.PeakReserved = Eval, bytes(allocated+j.takes), bytes(reserved), bytes(reserved)
				add(Event{Kind: KindStep, Step: e})
			}
		}
	}
	add(Event{Kind: KindEnd})
	return events, 0
}

// newJob draws a steady job that uses 30 to 80 % of its card.
func newJob(seed uint64, name string) *job {
	h := seed
	for _, c := range name {
		h = h*1099511628211 + uint64(c)
	}
	r := rand.New(rand.NewPCG(h, 1871))
	j := &job{r: r, card: int64(pick(r, 8, 12, 16, 24, 48, 80)) << 30, steps: 300 + r.IntN(500)}
	j.pace = 0.1 * math.Pow(20, r.Float64())
	j.model, j.needs, j.holds = 0.1+0.3*r.Float64(), 0.15+0.2*r.Float64(), 0.02*r.Float64()
	j.jitter = pick(r, 0, 1e-5, 1e-4, 1e-3)
	return j
}

// between returns a number between two others.
func (j *job) between(low, high float64) float64 { return low + (high-low)*j.r.Float64() }

func (j *job) stay(f func(step int, s size) float64) { j.stays = append(j.stays, f) }

// copies adds memory for good at a step.
func (j *job) copies(at int, part float64) {
	j.stay(func(step int, _ size) float64 {
		if step >= at {
			return part
		}
		return 0
	})
}

// evaluates adds evaluations.
func (j *job) evaluates() {
	j.evals, j.batches, j.takes = 10+j.r.IntN(100), 1+j.r.IntN(12), j.between(0.05, 0.4)
}

// saves adds checkpoints that copy something for a moment.
func (j *job) saves() {
	every, part := 25+j.r.IntN(150), j.needs+j.between(0, 0.15)
	j.peaks = append(j.peaks, func(step int) float64 {
		if step%every == 0 {
			return part
		}
		return 0
	})
}

// lengths draws lengths that vary from batch to batch.
func (j *job) lengths() {
	switch spread := j.between(0.2, 0.8); j.r.IntN(4) {
	case 0:
		j.shape = func(int) []int {
			return []int{jobBatch, min(jobLength, 8+int(300*math.Exp(spread*j.r.NormFloat64())))}
		}
	case 1:
		low := 64 + j.r.IntN(500)
		j.shape = func(int) []int { return []int{jobBatch, low + j.r.IntN(jobLength-low)} }
	case 2:
		j.shape = func(int) []int { return []int{jobBatch, 128 << j.r.IntN(4)} }
	case 3: // as many samples as fit into a number of tokens
		j.shape = func(int) []int {
			length := min(jobLength, 40+int(250*math.Exp(spread*j.r.NormFloat64())))
			return []int{jobBatch * jobLength / 2 / length, length}
		}
	}
	j.holds = j.between(0, 0.05)
}

// healthy returns jobs without a leak.
func healthy() map[string]func(*job) {
	return map[string]func(*job){
		"plain": func(*job) {},
		"grows then settles": func(j *job) {
			until, first := 30+j.r.IntN(400), 64+j.r.IntN(300)
			j.holds = 0.05
			j.shape = func(step int) []int { return []int{jobBatch, first + (jobLength-first)*min(step, until)/until} }
		},
		"grows in stages": func(j *job) {
			stages, each := 3+j.r.IntN(5), 20+j.r.IntN(80)
			j.holds = 0.05
			j.shape = func(step int) []int { return []int{jobBatch, jobLength * (1 + min(step/each, stages-1)) / stages} }
		},
		"ragged, and the longest grows": func(j *job) {
			until := 100 + j.r.IntN(300)
			j.holds = 0.05
			j.shape = func(step int) []int {
				longest := 128 + (jobLength-128)*min(step, until)/until
				return []int{jobBatch, longest/2 + j.r.IntN(longest/2)}
			}
		},
		"batch grows": func(j *job) {
			j.holds = 0.04
			each := 30 + j.r.IntN(60)
			j.shape = func(step int) []int { return []int{min(jobBatch, 2<<(step/each)), jobLength} }
		},
		"ragged":                              func(j *job) { j.lengths() },
		"ragged, hidden":                      func(j *job) { j.lengths(); j.hidden = true },
		"evaluations":                         func(j *job) { j.evaluates() },
		"ragged, evaluations and checkpoints": func(j *job) { j.lengths(); j.evaluates(); j.saves() },
		"checkpoints":                         func(j *job) { j.saves() },
		"first evaluation leaves a metric":    func(j *job) { j.evaluates(); j.copies(j.evals+1, j.between(0.005, 0.05)) },
		"cache grows": func(j *job) {
			base, each, by := j.model+j.needs, 3+j.r.IntN(20), j.between(0.002, 0.02)
			j.cache = func(step int) float64 { return min(0.97, base+by*float64(step/each)) }
		},
		"loader stalls": func(j *job) {
			each := 5 + j.r.IntN(30)
			j.waits = func(step int) float64 {
				if step%each == 0 {
					return 4 * j.pace
				}
				return 0
			}
		},
		"cudnn tries algorithms": func(j *job) {
			n, most := 2+j.r.IntN(6), j.needs+j.between(0.05, 0.2)
			j.peaks = append(j.peaks, func(step int) float64 {
				if step <= n {
					return most
				}
				return 0
			})
		},
		"average of the weights, late": func(j *job) { j.copies(100+j.r.IntN(300), j.model/4) },
		"average and a second copy": func(j *job) {
			first := 60 + j.r.IntN(150)
			j.copies(first, j.model/4)
			j.copies(first*3+j.r.IntN(50), j.between(0.05, 0.1))
		},
		"restarts": func(j *job) { // the pace changes, and momentum is set to zero in place
			each := 80 + j.r.IntN(80)
			j.waits = func(step int) float64 {
				if step%each == 0 {
					return 10
				}
				return 0
			}
		},
		"bursts of logging": func(j *job) { // kept for a few steps, then freed
			each, burst, part := 20+j.r.IntN(60), 3+j.r.IntN(12), j.between(0.001, 0.004)
			j.stay(func(step int, _ size) float64 {
				if k := step % each; k < burst {
					return part * float64(k)
				}
				return 0
			})
		},
		"losses until the next log": func(j *job) {
			each, part := 5+j.r.IntN(16), j.between(0.0005, 0.003)
			j.stay(func(step int, _ size) float64 { return part * float64(step%each) })
		},
		"cycles until a collection": func(j *job) { // reference cycles, which Python frees at irregular times
			held, part := 0, j.between(0.001, 0.005)
			j.stay(func(int, size) float64 {
				held++
				if held > 6 && j.r.IntN(12) == 0 || held > 20 {
					held = 0
				}
				return part * float64(held)
			})
		},
		"graphs of new shapes": func(j *job) { // each length is compiled once, and its memory stays
			kinds := 6 + j.r.IntN(10)
			seen := map[int]bool{}
			now := 0
			j.shape = func(int) []int {
				now = 1 + min(j.r.IntN(kinds), j.r.IntN(kinds))
				seen[now] = true
				return []int{jobBatch, jobLength * now / kinds}
			}
			part := j.between(0.002, 0.01)
			j.stay(func(int, size) float64 { return part * float64(len(seen)) })
		},
		"buffers fill": func(j *job) { // quickly, then ever slower
			most, scale := j.between(0.02, 0.1), j.between(3, 12)
			j.stay(func(step int, _ size) float64 { return most * (1 - math.Exp(-float64(step)/scale)) })
		},
		"wanders": func(j *job) { // experts that get more or fewer tokens
			level, part, keep := 0.0, j.between(0.001, 0.01), j.between(0.5, 0.9)
			j.stay(func(int, size) float64 {
				level = keep*level + math.Sqrt(1-keep*keep)*j.r.NormFloat64()
				return part * (4 + level)
			})
		},
		"two networks": func(j *job) { // alternate, with different memory
			part := j.between(0.02, 0.1)
			j.stay(func(step int, _ size) float64 { return part * float64(step%2) })
		},
		"epochs of two data sets": func(j *job) {
			each := 30 + j.r.IntN(100)
			j.holds = 0.05
			j.shape = func(step int) []int { return []int{jobBatch, jobLength / (1 + (1+step/each)%2)} }
		},
		"smaller last batch": func(j *job) {
			each := 15 + j.r.IntN(60)
			j.holds = 0.03
			j.shape = func(step int) []int {
				if step%each == 0 {
					return []int{3, jobLength}
				}
				return []int{jobBatch, jobLength}
			}
		},
		"another process comes and goes": func(j *job) {
			begins, ends, part := j.between(20, 100), j.between(150, 400), j.between(0.02, 0.1)
			j.other = func(t float64) float64 {
				if t > begins && t < ends {
					return part
				}
				return 0
			}
		},
		"another process grows": func(j *job) {
			j.other = func(t float64) float64 { return min(0.1, 0.0005*t) }
		},
		"libraries load late": func(j *job) { // memory outside PyTorch, once
			at, part := 20+j.r.IntN(200), j.between(0.005, 0.03)
			j.outside = func(step int) float64 {
				if step >= at {
					return part
				}
				return 0
			}
		},
		"communicators": func(j *job) { // a few buffers outside PyTorch, at different moments
			at, part := 1, j.between(0.002, 0.01)
			var firsts []int
			for range 2 + j.r.IntN(5) {
				at += 1 + j.r.IntN(40)
				firsts = append(firsts, at)
			}
			j.outside = func(step int) float64 {
				held := 0.0
				for _, first := range firsts {
					if step >= first {
						held += part
					}
				}
				return held
			}
		},
	}
}

// leak is a job that leaks from a step on.
type leak struct {
	*job
	begins    int  // the first step that leaks
	within    int  // steps within which it must be seen
	unclear   bool // until then, nothing tells it from a healthy job, so memory may run out before
	surprises bool // something that cannot be foreseen changes when memory runs out
}

// leaking returns jobs that run out of memory.
func leaking() map[string]func(*leak) {
	linear := func(l *leak, rate float64) {
		l.stay(func(step int, _ size) float64 { return rate * float64(max(0, step-l.begins)) })
	}
	stairs := func(each int) func(*leak) {
		return func(l *leak) {
			part := l.between(0.004, 0.03)
			l.within = max(60, 4*each)
			l.stay(func(step int, _ size) float64 { return part * float64(max(0, step-l.begins)/each) })
		}
	}
	rate := func(l *leak) float64 { return 0.0005 * math.Pow(16, l.r.Float64()) }
	return map[string]func(*leak){
		"slowest":              func(l *leak) { linear(l, 0.0005) },
		"linear":               func(l *leak) { linear(l, rate(l)) },
		"graphs retained":      func(l *leak) { linear(l, l.between(0.01, 0.04)) },
		"stairs of 5":          stairs(5),
		"stairs of 20":         stairs(20),
		"stairs of 50":         stairs(50),
		"stairs of 20, ragged": func(l *leak) { l.lengths(); stairs(20)(l); l.within = 120 },
		"in evaluations": func(l *leak) {
			l.evals, l.batches, l.takes = 10+l.r.IntN(40), 1+l.r.IntN(10), l.between(0.02, 0.2)
			part := l.between(0.004, 0.02)
			l.within = max(60, 4*l.evals)
			l.stay(func(step int, _ size) float64 { return part * float64((step-1)/l.evals) })
		},
		"outputs of ragged batches": func(l *leak) {
			l.lengths()
			part, held := 2*rate(l), 0.0
			l.within = 80
			l.stay(func(_ int, s size) float64 { held += part * float64(s); return held })
		},
		"ragged":                    func(l *leak) { l.lengths(); linear(l, rate(l)); l.within = 80 },
		"ragged, hidden":            func(l *leak) { l.lengths(); l.hidden = true; l.holds = 0.01; linear(l, 2*rate(l)); l.within = 100 },
		"late":                      func(l *leak) { l.begins = 100 + l.r.IntN(400); linear(l, rate(l)) },
		"after a long time":         func(l *leak) { l.begins = 2000 + l.r.IntN(3000); linear(l, rate(l)) },
		"after a long time, stairs": func(l *leak) { l.begins = 2000; stairs(20)(l) },
		"sometimes": func(l *leak) { // in three of ten steps
			part, held := 3*rate(l), 0.0
			l.within, l.unclear = 100, true
			l.stay(func(int, size) float64 {
				if l.r.IntN(10) < 3 {
					held += part
				}
				return held
			})
		},
		"evaluations and checkpoints": func(l *leak) {
			l.surprises = true
			l.evaluates()
			l.takes = min(l.takes, 0.2)
			l.saves()
			linear(l, rate(l))
		},
		"with bursts of logging": func(l *leak) {
			healthy()["bursts of logging"](l.job)
			linear(l, rate(l))
			l.within = 120
		},
		"with losses until the next log": func(l *leak) {
			healthy()["losses until the next log"](l.job)
			linear(l, rate(l))
			l.within = 120
		},
		"two networks":       func(l *leak) { healthy()["two networks"](l.job); linear(l, rate(l)) },
		"wanders":            func(l *leak) { healthy()["wanders"](l.job); linear(l, 3*rate(l)); l.within, l.unclear = 120, true },
		"smaller last batch": func(l *leak) { healthy()["smaller last batch"](l.job); linear(l, rate(l)) },
		"curriculum settles": func(l *leak) {
			l.unclear = true
			until := 30 + l.r.IntN(150)
			l.begins, l.holds = 0, 0.05
			l.within = until + 60
			l.shape = func(step int) []int { return []int{jobBatch, 128 + (jobLength-128)*min(step, until)/until} }
			linear(l, rate(l))
		},
		"joined to a longer tensor": func(l *leak) { // x = torch.cat([x, y]): old and new are there at the same time
			part := rate(l)
			l.surprises = true // the sum shows only once it needs more than a batch
			linear(l, part)
			l.peaks = append(l.peaks, func(step int) float64 { return part * float64(step) })
		},
		"another process comes": func(l *leak) {
			l.surprises = true
			healthy()["another process comes and goes"](l.job)
			linear(l, rate(l))
		},
		"outside PyTorch": func(l *leak) {
			part := l.between(0.001, 0.006)
			l.within, l.pace = 80, max(l.pace, 1.2)
			l.outside = func(step int) float64 { return part * float64(step) }
		},
		"outside PyTorch, late": func(l *leak) {
			part := l.between(0.001, 0.006)
			l.begins, l.within, l.pace = 200, 80, max(l.pace, 1.2)
			l.outside = func(step int) float64 { return part * float64(max(0, step-l.begins)) }
		},
	}
}
