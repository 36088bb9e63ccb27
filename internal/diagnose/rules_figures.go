// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"fmt"

	"snug/internal/units"
)

// The rules based on the figures in a message or a snapshot.

func (c *failure) onHost() (v Verdict, ok bool) {
	why := map[Form]string{
		Host:   "host memory ran out, not the card's",
		Worker: "a data loader worker was killed, most often because host memory ran out",
		Killed: "the system killed the process, most often because host memory ran out",
		Shared: "the data loader's workers ran out of shared memory (/dev/shm)",
	}[c.message.Form]
	if c.message.Form == Driver && some(c.frames, Frame.pins) {
		return Verdict{Code: HostMemory, Confidence: Likely, Why: "the driver could not lock host memory for batches (pin_memory): host memory is short, or the limit for locked memory (ulimit -l) is low"}, true
	}
	if why == "" {
		return v, false
	}
	v = Verdict{Code: HostMemory, Why: why, Confidence: Certain}
	if c.message.Form == Worker || c.message.Form == Killed {
		v.Confidence = Likely
	}
	return v, true
}

// slack is how much memory a driver reserves for itself: a request may fail although the free memory exceeds it by
// this much.
const slack = 64 * units.MiB

// spare returns how much memory beyond a request must be free for the request's failure to be unusual. On a large
// card the driver reserves more, and free memory may not be contiguous.
func (m *Message) spare() uint64 { return max(slack, m.Total/100) }

// impossible recognizes requests that the driver refused although it had the memory.
func (c *failure) impossible() (v Verdict, ok bool) {
	m := c.message
	if m.Form == Driver && m.figures() == 0 && len(c.steps) == 0 && !c.started() {
		return Verdict{Code: OtherProcess, Confidence: Possible,
			Why: "the driver did not even have enough memory to start: most often other processes use the card's memory (nvidia-smi lists them)"}, true
	}
	if held := m.Allocated + m.Unallocated; m.Total > 0 && held > m.Total+m.spare() && m.Form == Torch {
		return Verdict{Code: BadDriver, Confidence: Likely, Why: fmt.Sprintf("PyTorch holds %v of a card with %v: the driver is using host memory (as on Windows), or its figures are wrong",
			units.Bytes(held), units.Bytes(m.Total))}, true
	}
	left, confidence := m.Free, Likely
	if !m.known.free { // as in the texts for Intel cards
		held := m.Allocated + m.Unallocated
		if !m.known.allocated || m.Total < 2*(held+m.Tried) {
			return v, false
		}
		left, confidence = m.Total-held, Possible
	}
	capped := m.Limit > 0 && m.Allocated+m.Unallocated+m.Private+m.Tried > m.Limit
	if m.Tried == 0 || capped || left < m.Tried+m.spare() || m.Form != Torch {
		return v, false
	}
	return Verdict{Code: BadDriver, Confidence: confidence, Why: fmt.Sprintf("the driver refused %v although %v of the card was free: a limit outside PyTorch (WSL, MIG, a container, ulimit -v, 4 GB per request on some cards) or a driver in a bad state",
		units.Bytes(m.Tried), units.Bytes(left))}, true
}

// started reports whether the traceback is in a step, or in anything else that needs a working card.
func (c *failure) started() bool {
	return some(c.frames, Frame.calls) || some(c.frames, Frame.backward) || updates(c.frames)
}

// leastOthers is the fraction of a card that other processes must use before they count as a cause.
const leastOthers = 0.1

func (c *failure) byOthers() (v Verdict, ok bool) {
	m := c.message
	if m.Limit > 0 && m.Allocated+m.Unallocated+m.Private+m.Tried > m.Limit || m.Total == 0 || m.Form == MPS {
		return v, false
	}
	others, confidence := m.Others, Certain
	if m.Process == 0 && others == 0 && m.known.free && m.Allocated > 0 { // NVML reported nothing: count all memory that neither PyTorch nor its context accounts for
		if rest := int64(m.Total) - int64(m.Free) - int64(m.Allocated+m.Unallocated+m.Private) - contextSize; rest > 0 {
			others, confidence = uint64(rest), Possible
		}
	}
	if float64(others) < leastOthers*float64(m.Total) || m.Free+others < m.Tried {
		return v, false
	}
	if confidence == Certain && others < m.Process/2 {
		confidence = Likely
	}
	return Verdict{Code: OtherProcess, Confidence: confidence,
		Why: fmt.Sprintf("other processes use %v of the card's %v; without them the allocation of %v would have succeeded", units.Bytes(others), units.Bytes(m.Total), units.Bytes(m.Tried))}, true
}

// contextSize is a generous upper bound on what a CUDA context and its libraries use outside PyTorch.
const contextSize = 2 * units.GiB

func (c *failure) inPools() (v Verdict, ok bool) {
	m := c.message
	if m.Private == 0 || m.Private < m.Tried && c.share(m.Private) < leastOthers {
		return v, false
	}
	return Verdict{Code: PrivatePool, Confidence: Certain, Why: fmt.Sprintf("%v is unused in CUDA graphs' private pools, where nothing else can use it; %v was requested",
		units.Bytes(m.Private), units.Bytes(m.Tried))}, true
}

// leastApart is the fraction of PyTorch's memory that must be unused before fragmentation is the cause.
const leastApart = 0.08

// apart recognizes fragmentation: the reserved but unused memory would be enough, but is not in one piece.
func (c *failure) apart() (v Verdict, ok bool) {
	m := c.message
	if m.Unallocated < m.Tried || m.Tried == 0 || float64(m.Unallocated) < leastApart*float64(m.Allocated+m.Unallocated) {
		return v, false
	}
	v = Verdict{Code: Fragmentation, Confidence: Certain, Why: fmt.Sprintf("%v is reserved but unused, and not in one piece: %v was requested in one piece",
		units.Bytes(m.Unallocated), units.Bytes(m.Tried))}
	if c.Recorded != nil && c.Recorded.OOM != nil {
		v.Retry = c.Recorded.retry(c.rooms())
		v.Why += v.Retry.why()
	}
	return v, true
}
