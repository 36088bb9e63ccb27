// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"strings"
	"testing"
)

// TestFixesOfTexts checks the advice for texts in which the obvious advice would not help.
func TestFixesOfTexts(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{
			"PyTorch 2.0 refuses expandable segments",
			"OutOfMemoryError: CUDA out of memory. Tried to allocate 128.00 MiB (GPU 0; 14.75 GiB total capacity; 9.12 GiB already allocated; 64.81 MiB free; 13.51 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.",
			"set PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128",
		},
		{
			"a newer one has them",
			"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 128.00 MiB. GPU 0 has a total capacity of 14.75 GiB of which 64.81 MiB is free. Including non-PyTorch memory, this process has 14.68 GiB memory in use. Of the allocated memory 9.12 GiB is allocated by PyTorch, and 4.39 GiB is reserved by PyTorch but unallocated.",
			"set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
		},
		{
			"two tensors have to fit next to what is held", // 2 × 96.25 / 3 + 17.90 is more than 79.15
			"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 96.25 GiB. GPU 0 has a total capacity of 79.15 GiB of which 60.01 GiB is free. Including non-PyTorch memory, this process has 19.14 GiB memory in use. Of the allocated memory 17.90 GiB is allocated by PyTorch, and 512.00 MiB is reserved by PyTorch but unallocated.",
			"at least 4 times smaller",
		},
		{
			"a bus error is a lack of shared memory",
			"RuntimeError: DataLoader worker (pid(s) 1234) exited unexpectedly\nERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).",
			"docker run --shm-size=16g, or --ipc=host",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			log, err := ReadLog(strings.NewReader(c.text))
			if err != nil {
				t.Fatal(err)
			}
			v := Judge(Evidence{Log: log})
			if len(v.Fixes) == 0 || !strings.Contains(v.Fixes[0].Change, c.want) {
				t.Errorf("the first of %+v does not say %q", v.Fixes, c.want)
			}
		})
	}
}
