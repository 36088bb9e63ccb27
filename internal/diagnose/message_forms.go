// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"strconv"
	"strings"

	"snug/internal/pattern"
)

// form is one known text: its pattern, and the fields of a Message that its groups set, in order.
type form struct {
	form    Form
	pattern *pattern.Pattern
	fields  []func(*Message, string)
}

// bare reports whether a text has no figures, so that advice may look like it.
func (f *form) bare() bool { return len(f.fields) == 0 }

// conditional matches words before a mention of missing memory that make it advice, not a report.
var conditional = pattern.New(`(?i)\b(?:if|in case|when|whenever|avoid|prevent|reduce|may|might|could|would|should|to fix|catch|not a failure|helps?)\b`)

// hypothetical reports whether the words before a text make it advice.
func hypothetical(before string) bool {
	return conditional.In(before[max(0, len(before)-80):])
}

// remote matches other uses of "resource exhausted": quotas and remote calls.
var remote = pattern.New(`(?i)\bgrpc|quota|rate limit|larger than max`)

// xlaSize is an amount as XLA prints it.
const xlaSize = `([\d.]+ ?(?:bytes|[KMGT]i?B?|B))`

// figure sets one figure of a message.
type figure = func(*Message, string)

// forms lists the texts that are not from PyTorch's allocator, those with more figures first.
var forms = []form{
	{TorchAsync, pattern.New(`Allocation on device (\d+) would exceed allowed memory\. \(out of memory\)\s*Currently allocated\s*: `+size+`\s*Requested\s*: `+size+
		`\s*Device limit\s*: `+size+`\s*Free \(according to CUDA\)\s*: `+size+`(?:\s*PyTorch limit \(set by user-supplied memory fraction\)\s*: `+size+`)?`, "would exceed allowed memory"),
		[]figure{gpu, allocated, tried, total, free, notLimit}},
	{TorchAsync, pattern.New(`Allocation on device (\d*) ?would exceed allowed memory\. \(out of memory\)`, "would exceed allowed memory"), []figure{gpu}},
	{MPS, pattern.New(`MPS backend out of memory \(MPS allocated: `+size+`, other allocations: `+size+`, max allowed: `+size+`\)\.\s+Tried to allocate `+size, "MPS backend"),
		[]figure{allocated, others, limit, tried}},
	{MPS, pattern.New(`MPS backend out of memory`, "MPS backend"), nil},
	{MPS, pattern.New(`RuntimeError: Invalid buffer size: `+size, "Invalid buffer size"), []figure{tried}},

	{XLA, pattern.New(`Ran out of memory in memory space \w+\. Used `+xlaSize+` of `+xlaSize+` \w+`, "Ran out of memory"), []figure{tried, total}},
	{XLA, pattern.New(`Attempting to (?:allocate|reserve) `+xlaSize+`[^\n]*?There are `+xlaSize+` free`, "Attempting to"), []figure{tried, free}},
	{XLA, pattern.New(`(?i)RESOURCE[_ ]EXHAUSTED:[^\n]*?(?:out of memory|failed to allocate|attempting to (?:allocate|reserve))[^0-9\n]*`+xlaSize, "RESOURCE_EXHAUSTED", "esource exhausted"), []figure{tried}},
	{XLA, pattern.New(`[Oo]ut of memory (?:while trying to allocate|allocating) (\d+) bytes`, "ut of memory"), []figure{plainBytes}},
	{TensorFlow, pattern.New(`OOM when allocating tensor with shape ?(\[[\d,]*\])(?: and type (\w+))?(?: on \S*?GPU:(\d+))?`, "OOM when allocating"), []figure{shape, elementType, gpu}},
	{TensorFlow, pattern.New(`OOM when allocating tensor`, "OOM when allocating"), nil},
	{TensorFlow, pattern.New(`Allocator \(GPU_(\d+)_\w+\) ran out of memory trying to allocate `+size+` ?\((?:rounded to|requested)`, "ran out of memory"), []figure{gpu, tried}},
	{XLA, pattern.New(`RESOURCE_EXHAUSTED|ResourceExhaustedError|Resource exhausted: Out\b`, "RESOURCE_EXHAUSTED", "ResourceExhaustedError", "esource exhausted"), nil},

	{NCCL, pattern.New(`Failed to CUDA (?:host )?(?:calloc|malloc|alloc)(?: async)? (\d+) bytes`, "Failed to CUDA"), []figure{plainBytes}},
	{NCCL, pattern.New(`(?i)cuda failure (?:\d+ )?'out of memory'`, "failure"), nil},
	{Library, pattern.New(`(?:CUBLAS|CUDNN|CUSPARSE|CUSOLVER|CUFFT|HIPBLAS|MIOPEN|ROCBLAS)_(?:STATUS_)?(?:ALLOC_FAILED|INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED)|miopenStatusAllocFailed`, "_ALLOC", "AllocFailed"), nil},
	{Library, pattern.New(`CUBLAS_STATUS_NOT_INITIALIZED when calling .?cublasCreate|Unable to find a valid cuDNN algorithm to run convolution`, "cublasCreate", "valid cuDNN algorithm"), nil},
	{Driver, pattern.New(`failed to allocate [\d.]+[KMGT]i?B? \((\d+) bytes\) from device: CUDA_ERROR_OUT_OF_MEMORY`, "CUDA_ERROR_OUT_OF_MEMORY"), []figure{plainBytes}},
	{Driver, pattern.New(`(?i)out of memory allocating ([\d,]+) bytes|out of memory to allocate ([\d,]+) bytes`, "ut of memory"), []figure{plainBytes, plainBytes}},
	{Driver, pattern.New(`(?:CUDA|HIP)(?: driver| runtime)? error(?: \(2\) ?)?: out of memory|cuda runtime error \(2\) ?: out of memory|error=2 : out of memory|cuda failed with error 2 out of memory|Check failed: [^\n]*cudaSuccess[^\n]*out of memory`+
		`|CUDA_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation|Triton Error \[(?:CUDA|HIP)\]: out of memory|hipErrorOutOfMemory|_ERROR_OUT_OF_(?:DEVICE_MEMORY|RESOURCES)`, "out of memory", "OUT_OF_", "cudaErrorMemoryAllocation", "hipErrorOutOfMemory"), nil},

	{Host, pattern.New(`DefaultCPUAllocator: (?:can't allocate|not enough) memory: you tried to allocate (\d+) bytes`, "DefaultCPUAllocator"), []figure{plainBytes}},
	{Host, pattern.New(`Unable to allocate `+size+` for an array with shape`, "Unable to allocate"), []figure{tried}},
	{Host, pattern.New(`unable to mmap (\d+) bytes from file <[^>]*>: Cannot allocate memory`, "unable to mmap"), []figure{plainBytes}},
	{Shared, pattern.New(`(?:failed to extend /dev/shm/\S+ to|shared memory segment /dev/shm/\S+ \(size) (\d+)`, "/dev/shm/"), []figure{plainBytes}},
	{Shared, pattern.New(`[Uu]nexpected bus error encountered in worker|insufficient shared memory \(shm\)|killed by signal: Bus error|unable to (?:write to file|resize file|allocate shared memory\S*)[^\n]*</?torch_|unable to (?:write to|mmap|allocate)(?: a)? shared memory`+
		`|(?:/dev/shm|torch_\d+_\d+)[^\n]*No space left on device|No space left on device[^\n]*/dev/shm`, "shared memory", "Bus error", "bus error", "No space left", "torch_"), nil},
	{Worker, pattern.New(`DataLoader worker \(pid\(?s?\)? ?[\d, ]+\) (?:is killed by signal: Killed|exited unexpectedly)`, "DataLoader worker"), nil},
	{Killed, pattern.New(`oom[-_]kill|Out of memory: Kill(?:ed)? process|Signal 9 \(SIGKILL\)|exitcode ?: ?-9|OutOfMemoryKilled|OOMKilled|OOM Killed|emory cgroup out of memory|terminated with signal SIGKILL`+
		`|killed due to the node running low on memory|killed due to memory pressure|exit(?:ed)?(?: with)?(?: status)?(?: code)?:? ?137\b|^(?:\S+: line \d+: +)?(?:\d+ )?Killed(?:$| {3,})|task \d+: Out Of Memory`,
		"oom", "OOM", "Kill", "SIGKILL", "exitcode", "137", "out of memory", "Out Of Memory", "Out of memory", "killed"), nil},
	{Host, pattern.New(`\[Errno 12\] Cannot allocate memory|^MemoryError(?::|$)|\bMemoryError: |std::bad_alloc|os error 1455|paging file is too small`, "Errno 12", "MemoryError", "bad_alloc", "1455", "paging file"), nil},
	{Torch, pattern.New(`(?:Error|Exception|ERROR)\b[^\n]*\b(?:CUDA|HIP|XPU|NPU|GPU) out of memory|^\W*(?:CUDA|HIP|XPU|NPU) out of memory\b`, "out of memory"), nil},
}

// notLimit parses the cap in cudaMallocAsync's text, which is the largest possible number if none was set.
func notLimit(m *Message, s string) {
	before := m.Impossible
	limit(m, s)
	m.Impossible = before
}

func plainBytes(m *Message, s string) {
	m.Tried, _ = strconv.ParseUint(strings.ReplaceAll(s, ",", ""), 10, 64)
}

// shape sets Tried to the number of elements of "[8,512,50257]", and elementType multiplies it by the size of an
// element. Without a type the size is unknown.
func shape(m *Message, s string) {
	n := uint64(1)
	for d := range strings.SplitSeq(strings.Trim(s, "[]"), ",") {
		v, err := strconv.ParseUint(d, 10, 32)
		if err != nil || v > 0 && n > 1<<50/v {
			return
		}
		n *= v
	}
	m.elements = n
}

func elementType(m *Message, s string) {
	sizes := map[string]uint64{"half": 2, "bfloat16": 2, "float": 4, "int32": 4, "double": 8, "int64": 8, "complex64": 8, "bool": 1, "int8": 1, "uint8": 1}
	m.Tried = m.elements * sizes[s]
}
