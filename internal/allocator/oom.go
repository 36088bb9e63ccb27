// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"fmt"
	"strings"

	"snug/internal/units"
)

// OutOfMemoryError is torch.OutOfMemoryError. Error returns the text that this version of PyTorch prints,
// without the list of processes, which needs NVML.
type OutOfMemoryError struct {
	Version   Version // the PyTorch release whose message this is
	Requested uint64  // bytes the program requested
	Segment   uint64  // bytes requested from the device, which the message calls "tried to allocate"
	Total     uint64  // memory of the card
	Free      uint64  // free memory of the card, after the cache was flushed
	Allocated uint64  // memory_allocated
	Private   uint64  // free bytes in private pools, which other pools cannot use
	Reserved  uint64  // memory_reserved
	Limit     uint64  // cap set by a memory fraction
	Limited   bool    // whether there is a limit
	Rejected  bool    // rejected before the device was asked (throw_on_cudamalloc_oom)
	Absurd    bool    // 2^60 bytes or more: refused before anything else
}

// Unallocated returns the number of reserved bytes that no tensor uses.
func (e *OutOfMemoryError) Unallocated() uint64 { return e.Reserved - e.Allocated - e.Private }

// Error returns the message of e's version.
func (e *OutOfMemoryError) Error() string {
	switch {
	case e.Absurd:
		return "CUDA out of memory. Tried to allocate more than 1EB memory."
	case e.Rejected:
		return "CUDA out of memory. Allocation was preemptively rejected because it would exceed " +
			"per_process_memory_fraction limit. Requested size: " + torch(e.Requested)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "CUDA out of memory. Tried to allocate %s. GPU 0 has a total %s of %s of which %s is free. ",
		torch(e.Segment), e.capacity(), torch(e.Total), torch(e.Free))
	if e.Limited && e.Version.AtLeast(5) {
		fmt.Fprintf(&b, "%s allowed; ", torch(e.Limit))
	}
	private := e.Private
	if !e.Version.AtLeast(4) {
		private = 0 // these versions counted private memory as unallocated
	}
	fmt.Fprintf(&b, "Of the allocated memory %s is allocated by PyTorch, ", torch(e.Allocated+private))
	if private > 0 {
		fmt.Fprintf(&b, "with %s allocated in private pools (e.g., CUDA Graphs), ", torch(private))
	}
	fmt.Fprintf(&b, "and %s is reserved by PyTorch but unallocated. %s", torch(e.Reserved-e.Allocated-private), e.hint())
	return b.String()
}

// capacity returns the word "capacity", which 2.1 misspelled. The misspelling is kept because people search logs
// for the exact text.
func (e *OutOfMemoryError) capacity() string {
	if !e.Version.AtLeast(2) {
		return "capacty"
	}
	return "capacity"
}

func (e *OutOfMemoryError) hint() string {
	const opening = "If reserved but unallocated memory is large try setting "
	if !e.Version.AtLeast(2) {
		return opening + "max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF"
	}
	variable, page := "PYTORCH_CUDA_ALLOC_CONF", "https://pytorch.org/docs/stable/notes/cuda.html#environment-variables"
	switch {
	case e.Version.AtLeast(11):
		page = "https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf"
	case e.Version.AtLeast(10):
		variable = "PYTORCH_ALLOC_CONF"
	}
	return opening + variable + "=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  (" + page + ")"
}

func torch(n uint64) string { return units.Bytes(n).Torch() }
