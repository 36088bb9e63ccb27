// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"bytes"
	"testing"
)

// FuzzReadLog reads arbitrary bytes as a log and diagnoses them.
func FuzzReadLog(f *testing.F) {
	f.Add([]byte("Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n    x()\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 1.00 GiB of which 0 bytes is free. Of the allocated memory 1.00 GiB is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated."))
	f.Add([]byte("\r\x1b[31mstep 7 mem 3.1GiB\rMemoryError\n"))
	f.Add([]byte("OOM when allocating tensor with shape[64,512] and type half on /job:a/GPU:0"))
	f.Add([]byte("\xff\xfeC\x00U\x00D\x00A\x00 \x00o\x00u\x00t\x00\n\x00\xd8\x00\xdc"))
	f.Add([]byte("│ /a/b.py:15 in <module> │\n│ ❱ 15 │   f() │\nCell In[3], line 2\n----> 2 g()\nOutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB (GPU 0; 1.00 GiB total capacity;\n1.00 GiB already allocated; 0 bytes free; 1.00 GiB cached)"))
	f.Add([]byte("[rank1]: Allocation on device 1 would exceed allowed memory. (out of memory)\n[rank1]: Currently allocated : 1 bytes\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		log, err := ReadLog(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if v := Judge(Evidence{Log: log}); v.Code == "" || v.Why == "" || v.Code.Title() == "" {
			t.Errorf("verdict %+v", v)
		}
	})
}
