// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"strings"
	"testing"
)

// TestMessages compares the text of every version with a real message.
func TestMessages(t *testing.T) {
	const (
		head   = "CUDA out of memory. Tried to allocate 100.00 MiB. GPU 0 has a total capacity of 256.00 MiB of which 156.00 MiB is free. "
		middle = "Of the allocated memory 100.00 MiB is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated. "
		hint   = "If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  "
		oldURL = "(https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
		newURL = "(https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf)"
		limit  = "128.00 MiB allowed; "
	)
	generic := strings.Replace(hint, "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", 1)
	want := map[int]string{
		1: strings.Replace(head, "capacity", "capacty", 1) + middle + "If reserved but unallocated memory is large try setting " +
			"max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF",
		2: head + middle + hint + oldURL, 3: head + middle + hint + oldURL, 4: head + middle + hint + oldURL,
		5: head + limit + middle + hint + oldURL, 6: head + limit + middle + hint + oldURL,
		7: head + limit + middle + hint + oldURL, 8: head + limit + middle + hint + oldURL,
		9: head + limit + middle + hint + oldURL, 10: head + limit + middle + generic + oldURL,
		11: head + limit + middle + hint + newURL, 12: head + limit + middle + hint + newURL,
	}
	for minor := 1; minor <= 12; minor++ {
		a, err := New(&Simple{Total: 256 << 20}, Version{2, minor}, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		if err := a.SetMemoryFraction(0.5); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Alloc(100<<20, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Alloc(100<<20, 0); err == nil || err.Error() != want[minor] {
			t.Errorf("2.%d:\n got %v\nwant %s", minor, err, want[minor])
		}
	}
}

func TestMessagePrivatePools(t *testing.T) {
	e := OutOfMemoryError{Version: Version{2, 4}, Allocated: 50 << 20, Private: 50 << 20, Reserved: 100 << 20}
	says := "100.00 MiB is allocated by PyTorch, with 50.00 MiB allocated in private pools (e.g., CUDA Graphs), and 0 bytes is reserved"
	if got := e.Error(); !strings.Contains(got, says) {
		t.Errorf("2.4: %q lacks %q", got, says)
	}
	e.Version.Minor = 3
	says = "50.00 MiB is allocated by PyTorch, and 50.00 MiB is reserved"
	if got := e.Error(); !strings.Contains(got, says) {
		t.Errorf("2.3: %q lacks %q", got, says)
	}
}

func TestAbsurdRequest(t *testing.T) {
	a, _ := New(&Simple{Total: 1 << 30}, Latest, DefaultOptions())
	_, err := a.Alloc(1<<60, 0)
	if err == nil || err.Error() != "CUDA out of memory. Tried to allocate more than 1EB memory." {
		t.Errorf("error %v", err)
	}
	if s := a.Stats(); s.OOMs != 0 || s.AllocRetries != 0 {
		t.Errorf("the request was counted: %d OOMs, %d retries", s.OOMs, s.AllocRetries)
	}
}

// TestRejection checks throw_on_cudamalloc_oom: no flush, a separate counter and a separate message.
func TestRejection(t *testing.T) {
	opt, err := ParseOptions("throw_on_cudamalloc_oom:True", Version{2, 12})
	if err != nil {
		t.Fatal(err)
	}
	a, _ := New(&Simple{Total: 256 << 20}, Version{2, 12}, opt)
	r, _ := a.Alloc(200<<20, 0)
	if err := a.Free(r); err != nil {
		t.Fatal(err)
	}
	_, err = a.Alloc(210<<20, 0)
	want := "CUDA out of memory. Allocation was preemptively rejected because it would exceed per_process_memory_fraction limit. Requested size: 210.00 MiB"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if s := a.Stats(); s.OOMRejections != 1 || s.OOMs != 0 || s.AllocRetries != 0 || a.Reserved() != 200<<20 {
		t.Errorf("rejections %d, ooms %d, retries %d, reserved %d", s.OOMRejections, s.OOMs, s.AllocRetries, a.Reserved())
	}
}
