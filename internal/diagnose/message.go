// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"snug/internal/pattern"
	"strconv"
	"strings"

	"snug/internal/units"
)

// Message is one report of missing memory, as a program or the system printed it. A figure that the text
// does not have, or that cannot be true, is 0.
type Message struct {
	Form        Form   // which text it is
	Line        int    // of the log, from 1
	Prefix      string // what stands before it on its line: a rank or a time
	GPU         int    // index of the card; -1 if the text does not say
	Tried       uint64 // bytes that could not be had
	Total       uint64 // of the card
	Free        uint64 // of the card, after PyTorch gave back its cache
	Process     uint64 // held by this process, with what is not PyTorch's
	Others      uint64 // held by other processes
	Allocated   uint64 // in tensors
	Unallocated uint64 // reserved by PyTorch and in no tensor
	Private     uint64 // unused in the private pools of CUDA graphs
	Limit       uint64 // limit for this process
	Impossible  bool   // whether the text has a figure that cannot be true
	known       known
}

// known says which figures a message has, since 0 bytes is a figure too.
type known struct{ free, unallocated, private bool }

// Form is the kind of text that a message is.
type Form string

// The forms, by who wrote the text.
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

// size is an amount of memory as PyTorch prints it, in one group.
const size = `(\d+(?:\.\d+)? ?(?:bytes|[KMGT]i?B))`

// form is one known text: its pattern, and the fields of a Message that its groups are, in order.
type form struct {
	form    Form
	pattern *pattern.Pattern
	fields  []func(*Message, string)
}

// forms lists all known texts, those with more figures first. The versions are those of spec §13.
var forms = []form{
	{Torch, // 2.1 and later; XPU and HIP print the same
		pattern.New(`(?:CUDA|HIP|XPU) out of memory\. Tried to allocate ` + size + `\. GPU (\d+) has a total capaci?ty of ` + size + ` of which ` + size +
			` is free\. (.*?)(?:` + size + ` allowed; )?Of the allocated memory ` + size + ` is allocated by PyTorch,? (?:with ` + size +
			` allocated in private pools \(e\.g\., (?:CUDA|HIP) Graphs\), )?and ` + size + ` is reserved by PyTorch but unallocated`),
		[]func(*Message, string){tried, gpu, total, free, processes, limit, allocated, private, unallocated}},
	{Torch, // up to 2.0
		pattern.New(`(?:CUDA|HIP) out of memory\. Tried to allocate ` + size + ` \(GPU (\d+); ` + size + ` total capacity; ` + size + ` already allocated; ` + size +
			` free; (?:` + size + ` allowed; )?` + size + ` (?:reserved in total by PyTorch|cached)\)`),
		[]func(*Message, string){tried, gpu, total, allocated, free, limit, reserved}},
	{Torch, // XPU up to 2.8
		pattern.New(`XPU out of memory\. Tried to allocate ` + size + `(?: \(GPU (\d+)(?:; ` + size + ` total capacity; ` + size + ` already allocated; ` + size + ` reserved in total by PyTorch)?\))?`),
		[]func(*Message, string){tried, gpu, total, allocated, reserved}},
	{Torch, // cut off after the card's figures
		pattern.New(`(?:CUDA|HIP|XPU) out of memory\. Tried to allocate ` + size + `\. GPU (\d+) has a total capaci?ty of ` + size + ` of which ` + size + ` is free`),
		[]func(*Message, string){tried, gpu, total, free}},
	{Torch, pattern.New(`CUDA out of memory\. Allocation was preemptively rejected because it would exceed per_process_memory_fraction limit\. Requested size: ` + size),
		[]func(*Message, string){tried}},
	{Torch, pattern.New(`(?:CUDA|HIP|XPU) out of memory\. Tried to allocate (more than 1EB memory|` + size[1:len(size)-1] + `)`), []func(*Message, string){tried}},
	{TorchAsync, pattern.New(`Allocation on device (\d+) would exceed allowed memory\. \(out of memory\)\s*Currently allocated\s*: ` + size + `\s*Requested\s*: ` + size +
		`\s*Device limit\s*: ` + size + `\s*Free \(according to CUDA\)\s*: ` + size + `\s*PyTorch limit \(set by user-supplied memory fraction\)\s*: ` + size),
		[]func(*Message, string){gpu, allocated, tried, total, free, limit}},
	{TorchAsync, pattern.New(`Allocation on device (\d*) ?would exceed allowed memory\. \(out of memory\)`), []func(*Message, string){gpu}},
	{MPS, pattern.New(`MPS backend out of memory \(MPS allocated: ` + size + `, other allocations: ` + size + `, max allowed: ` + size + `\)\. Tried to allocate ` + size),
		[]func(*Message, string){allocated, others, limit, tried}},
	{XLA, pattern.New(`RESOURCE_EXHAUSTED: (?:Out of memory|Failed to allocate request for|Attempting to (?:allocate|reserve))[^0-9\n]*([\d.]+ ?(?:bytes|[KMGT]i?B?))`), []func(*Message, string){tried}},
	{TensorFlow, pattern.New(`OOM when allocating tensor with shape ?(\[[\d,]*\]) and type (\w+) on \S*?GPU:(\d+)`), []func(*Message, string){shape, elementType, gpu}},
	{XLA, pattern.New(`RESOURCE_EXHAUSTED|ResourceExhaustedError`), nil},
	{NCCL, pattern.New(`Failed to CUDA (?:host )?(?:calloc|malloc)(?: async)? (\d+) bytes`), []func(*Message, string){plainBytes}},
	{NCCL, pattern.New(`NCCL WARN .*[Cc]uda failure.*out of memory`), nil},
	{Library, pattern.New(`(?:CUBLAS|CUDNN|CUSPARSE|CUSOLVER|CUFFT)_(?:STATUS_)?ALLOC_FAILED`), nil},
	{Driver, pattern.New(`CUDA (?:driver )?error: out of memory|CUDA_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation|Triton Error \[CUDA\]: out of memory|hipErrorOutOfMemory`), nil},
	{Host, pattern.New(`DefaultCPUAllocator: (?:can't allocate|not enough) memory: you tried to allocate (\d+) bytes`), []func(*Message, string){plainBytes}},
	{Host, pattern.New(`Unable to allocate ` + size + ` for an array with shape`), []func(*Message, string){tried}},
	{Shared, pattern.New(`insufficient shared memory \(shm\)|unable to (?:open|write to|mmap|allocate) (?:a )?shared memory|(?:/dev/shm|torch_\d+_\d+).*No space left on device|No space left on device.*/dev/shm`), nil},
	{Worker, pattern.New(`DataLoader worker \(pid\(?s?\)? ?[\d, ]+\) (?:is killed by signal: (?:Killed|Bus error)|exited unexpectedly)`), nil},
	{Killed, pattern.New(`oom[-_]kill|Out of memory: Kill(?:ed)? process|Signal 9 \(SIGKILL\)|exitcode ?: -9|OutOfMemoryKilled|OOMKilled|Memory cgroup out of memory`), nil},
	{Host, pattern.New(`\[Errno 12\] Cannot allocate memory|^MemoryError(?::|$)|\bMemoryError: |std::bad_alloc`), nil},
	{Torch, pattern.New(`(?:CUDA|HIP|XPU) out of memory`), nil},
}

func tried(m *Message, s string)     { m.Tried = m.bytes(s) }
func total(m *Message, s string)     { m.Total = m.bytes(s) }
func free(m *Message, s string)      { m.Free, m.known.free = m.bytes(s), true }
func limit(m *Message, s string)     { m.Limit = m.bytes(s) }
func others(m *Message, s string)    { m.Others = m.bytes(s) }
func allocated(m *Message, s string) { m.Allocated = m.bytes(s) }
func private(m *Message, s string)   { m.Private, m.known.private = m.bytes(s), true }

func unallocated(m *Message, s string) { m.Unallocated, m.known.unallocated = m.bytes(s), true }

// reserved is allocated and unallocated together; its group comes after allocated's.
func reserved(m *Message, s string) {
	if r := m.bytes(s); r >= m.Allocated {
		m.Unallocated, m.known.unallocated = r-m.Allocated, true
	}
}

func gpu(m *Message, s string) {
	if n, err := strconv.Atoi(s); err == nil {
		m.GPU = n
	}
}

func plainBytes(m *Message, s string) { m.Tried, _ = strconv.ParseUint(s, 10, 64) }

// shape sets Tried to the number of elements of "[8,512,50257]", and elementType multiplies it.
func shape(m *Message, s string) {
	n := uint64(1)
	for d := range strings.SplitSeq(strings.Trim(s, "[]"), ",") {
		v, err := strconv.ParseUint(d, 10, 32)
		if err != nil || v > 0 && n > 1<<50/v {
			return
		}
		n *= v
	}
	m.Tried = n
}

func elementType(m *Message, s string) {
	sizes := map[string]uint64{"half": 2, "bfloat16": 2, "float": 4, "int32": 4, "double": 8, "int64": 8, "complex64": 8, "bool": 1, "int8": 1, "uint8": 1}
	m.Tried *= sizes[s]
}

var inUse = pattern.New(`(this process|Process \d+) has ` + size + ` memory in use`)

// processes reads the list of processes that PyTorch gets from NVML.
func processes(m *Message, s string) {
	for _, p := range inUse.Regexp().FindAllStringSubmatch(s, -1) {
		if n := m.bytes(p[2]); p[1] == "this process" {
			m.Process = n
		} else {
			m.Others += n
		}
	}
}

// mostPlausible is more memory than any card has. NVML's "not available" is printed as 17179869184.00 GiB.
const mostPlausible = 64 * units.TiB

// bytes reads an amount. One that cannot be true is 0, and is remembered.
func (m *Message) bytes(s string) uint64 {
	s = strings.TrimSuffix(strings.TrimSpace(s), "bytes")
	b, err := units.Parse(strings.TrimSpace(s), 1)
	if err != nil || uint64(b) > mostPlausible {
		m.Impossible = true
		return 0
	}
	return uint64(b)
}

// messageIn returns the message in some lines of a log, if there is one. Texts of several lines are found at
// the first of them.
func messageIn(text string) (Message, bool) {
	for _, f := range forms {
		groups := f.pattern.Find(text)
		if groups == nil {
			continue
		}
		m := Message{Form: f.form, GPU: -1}
		for i, set := range f.fields {
			if g := groups[i+1]; g != "" {
				set(&m, g)
			}
		}
		return m, true
	}
	return Message{}, false
}

// figures returns the number of figures that a message has.
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
