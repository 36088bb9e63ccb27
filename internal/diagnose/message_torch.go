// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"strconv"
	"strings"

	"snug/internal/pattern"
	"snug/internal/units"
)

// The text of PyTorch's allocator has changed in every other release, and differs between CUDA, ROCm, Intel's and
// Huawei's cards. The labels of its figures have changed less. So a text is found by its first words, and each
// figure by its label. If a text is cut off, wrapped or new, all figures that it still has are found.

// size is an amount of memory, in one group.
const size = `(\d+(?:\.\d+)? ?(?:bytes|[KMGT]i?B))`

var (
	// opening is the start of a text with figures. The words before "Tried" are missing if someone copied only the
	// end of a line, and differ on cards that limit single requests.
	opening = pattern.New(`(?:\b(\w+) out of memory[.!]?\s+)?Tried to allocate (?:(more than 1EB memory)|`+size+`)(\. \w+ +\d+ has a|\s*\(\w+ +\d+;?)?`, "Tried to allocate")
	rejects = pattern.New(`\b(\w+) out of memory\. Allocation was preemptively rejected because it would exceed per_process_memory_fraction limit\. Requested size: `+size, "preemptively rejected")
)

// longestText is the maximum size of a text in bytes: it may list a hundred processes.
const longestText = 16 << 10

// label is a figure in PyTorch's text: the words around it, and the field that it sets.
type label struct {
	pattern *pattern.Pattern
	set     func(*Message, string)
}

// labels lists the figures, allocated before reserved, because reserved includes allocated.
var labels = []label{
	{pattern.New(`\b\w+ +(\d+)(?: has a total|; )`), gpu},
	{pattern.New(`total capac\w*ty of ` + size), total},
	{pattern.New(size + ` total capacity`), total},
	{pattern.New(`of which ` + size + ` is free`), free},
	{pattern.New(size + ` free[;)]`), free},
	{pattern.New(size + ` allowed;`), limit},
	{pattern.New(`allocated memory ` + size + ` is allocated`), allocated},
	{pattern.New(size + ` already allocated`), allocatedBefore},
	{pattern.New(`with ` + size + ` allocated in private pools`), private},
	{pattern.New(size + ` is reserved by PyTorch but unallocated`), unallocated},
	{pattern.New(size + ` reserved in total`), reserved},
	{pattern.New(size + ` cached`), cached},
}

// torchMessage returns the message of PyTorch's allocator in a text.
func torchMessage(text string) (m Message, ok bool) {
	m = Message{Form: Torch, GPU: -1}
	if r := rejects.Find(text); r != nil {
		m.Device = r[1]
		tried(&m, r[2])
		return m, true
	}
	at := opening.Index(text)
	if at == nil {
		return m, false
	}
	group := func(i int) string {
		if at[2*i] < 0 {
			return ""
		}
		return text[at[2*i]:at[2*i+1]]
	}
	if m.Device = group(1); m.Device == "" && group(4) == "" {
		return m, false // Apple's text, or another program's
	}
	m.Impossible = group(2) != ""
	tried(&m, group(3))
	m.read(section(text[at[0]:], at[1]-at[0]))
	return m, true
}

// section cuts a text off at the start of the next message.
func section(text string, from int) string {
	if next := opening.Index(text[from:]); next != nil {
		text = text[:from+next[0]]
	}
	return text[:min(len(text), longestText)]
}

// read sets the figures in a text by their labels.
func (m *Message) read(text string) {
	for _, l := range labels {
		if g := l.pattern.Find(text); g != nil {
			l.set(m, g[1])
		}
	}
	processes(m, text)
}

func tried(m *Message, s string) {
	if s != "" {
		m.Tried = m.bytes(s)
	}
}
func total(m *Message, s string)     { m.Total = m.bytes(s) }
func free(m *Message, s string)      { m.Free, m.known.free = m.bytes(s), true }
func limit(m *Message, s string)     { m.Limit = m.bytes(s) }
func others(m *Message, s string)    { m.Others = m.bytes(s) }
func allocated(m *Message, s string) { m.Allocated, m.known.allocated = m.bytes(s), true }
func private(m *Message, s string)   { m.Private, m.known.private = m.bytes(s), true }

func unallocated(m *Message, s string) { m.Unallocated, m.known.unallocated = m.bytes(s), true }

// allocatedBefore sets the allocated memory from a message of PyTorch 2.0 or earlier.
func allocatedBefore(m *Message, s string) {
	allocated(m, s)
	m.older = true
}

// reserved sets the unallocated memory from the sum of allocated and unallocated.
func reserved(m *Message, s string) {
	if r := m.bytes(s); r >= m.Allocated {
		m.Unallocated, m.known.unallocated = r-m.Allocated, true
	}
}

// cached sets the unallocated memory from PyTorch's cached memory. Up to 1.3 the figure excludes tensors; if it is
// larger than the rest of the card, it must include them.
func cached(m *Message, s string) {
	if c := m.bytes(s); m.Total > 0 && m.Allocated+c > m.Total {
		reserved(m, s)
		return
	}
	unallocated(m, s)
}

func gpu(m *Message, s string) {
	if n, err := strconv.Atoi(s); err == nil {
		m.GPU = n
	}
}

var inUse = pattern.New(`(this process|Process \d+) has `+size+` memory in use`, "memory in use")

// processes reads the list of processes that PyTorch gets from NVML.
func processes(m *Message, s string) {
	if !strings.Contains(s, "in use") {
		return
	}
	own := int64(m.Allocated + m.Unallocated)
	for _, p := range inUse.Regexp().FindAllStringSubmatch(s, -1) {
		n := m.bytes(p[2])
		switch outside := int64(n) - own; {
		case p[1] == "this process":
			m.Process = n
		case m.Process == 0 && m.known.unallocated && outside >= -rounding && outside < contextSize && !strings.Contains(s, "this process"):
			m.Process = n // in a container the process does not know its own PID on the host
		default:
			m.Others += n
		}
	}
}

// rounding is the maximum error of sums of printed figures, which have only two decimals.
const rounding = 32 * units.MiB

// whole reports whether a PyTorch text has its last figure, so that no more lines belong to it.
func (m *Message) whole() bool { return m.Form == Torch && m.known.unallocated }
