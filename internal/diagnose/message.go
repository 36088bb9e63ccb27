// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"strconv"
	"strings"

	"snug/internal/units"
)

// Message is one out-of-memory message, as a program or the system printed it. A figure that is missing or cannot be
// true is 0.
type Message struct {
	Form        Form   // the kind of text
	Device      string // CUDA, HIP, XPU or NPU, if PyTorch's allocator wrote the message
	Line        int    // of the log, from 1
	Prefix      string // the text before the message on its line: a rank or a time
	GPU         int    // index of the card; -1 if not in the text
	Tried       uint64 // bytes that could not be allocated
	Total       uint64 // of the card
	Free        uint64 // on the card, after PyTorch released its cache
	Process     uint64 // used by this process, including memory outside PyTorch
	Others      uint64 // used by other processes
	Allocated   uint64 // in tensors
	Unallocated uint64 // reserved by PyTorch but not in tensors
	Private     uint64 // unused in the private pools of CUDA graphs
	Limit       uint64 // limit for this process
	Impossible  bool   // whether the text has a figure that cannot be true
	older       bool   // whether the words are those of PyTorch up to 2.0, for a CUDA card
	elements    uint64 // elements of the tensor that could not be allocated, if only its shape is printed
	known       known
}

// known records which figures a message has, because a figure can be 0 bytes.
type known struct{ free, allocated, unallocated, private bool }

// Form is the kind of a message's text.
type Form string

// The forms, by the software that prints the text.
const (
	Torch      Form = "PyTorch's allocator"
	TorchAsync Form = "PyTorch's cudaMallocAsync allocator"
	MPS        Form = "PyTorch's allocator for Apple GPUs"
	Driver     Form = "the CUDA driver"
	Library    Form = "a CUDA library"
	NCCL       Form = "NCCL"
	Host       Form = "host memory"
	Worker     Form = "a data loader's worker"
	Killed     Form = "the system"
	Shared     Form = "shared memory"
	XLA        Form = "XLA"
	TensorFlow Form = "TensorFlow"
)

// figures returns the number of figures in a message.
func (m *Message) figures() (n int) {
	for _, v := range []uint64{m.Tried, m.Total, m.Allocated, m.Limit, m.Process, m.Others} {
		if v > 0 {
			n++
		}
	}
	for _, k := range []bool{m.known.free, m.known.unallocated, m.known.private} {
		if k {
			n++
		}
	}
	return n
}

// mostPlausible is more memory than any card has. NVML's "not available" is printed as 17179869184.00 GiB.
const mostPlausible = 64 * units.TiB

// bytes parses an amount. An impossible amount becomes 0 and sets Impossible.
func (m *Message) bytes(s string) uint64 {
	b, ok := amount(s)
	if !ok || b > mostPlausible {
		m.Impossible = true
		return 0
	}
	return uint64(b)
}

// amount parses a size as these programs print it: "20.00 MiB", "512 bytes", "1.60G". Their units are binary even
// if they print GB: for Apple GPUs, PyTorch printed GB up to 2.5 and prints GiB since, for the same numbers.
func amount(s string) (float64, bool) {
	s = strings.TrimSpace(s)
	digits := strings.TrimRight(s, "bytesKMGTi B")
	v, err := strconv.ParseFloat(strings.ReplaceAll(digits, ",", ""), 64)
	if err != nil {
		return 0, false
	}
	unit := strings.TrimSpace(s[len(digits):])
	if unit == "" || unit == "bytes" || unit == "B" {
		return v, true
	}
	return v * map[byte]float64{'K': units.KiB, 'M': units.MiB, 'G': units.GiB, 'T': units.TiB}[unit[0]], true
}

// messageIn returns the message in some lines of a log, if any. A multi-line text is found at its first line.
func messageIn(text string) (Message, bool) {
	if m, ok := torchMessage(text); ok {
		return m, true
	}
	for _, f := range forms {
		at := f.pattern.Index(text)
		if at == nil || f.bare() && (hypothetical(text[:at[0]]) || f.form == XLA && remote.In(text)) {
			continue
		}
		m := Message{Form: f.form, GPU: -1}
		for i, set := range f.fields {
			if from, to := at[2*i+2], at[2*i+3]; from >= 0 {
				set(&m, text[from:to])
			}
		}
		return m, true
	}
	return Message{}, false
}
