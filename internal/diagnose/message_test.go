// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"snug/internal/units"
)

const (
	mib = units.MiB
	gib = units.GiB
)

func size2(v float64, unit float64) uint64 { return uint64(v * unit) }

// TestMessages checks every known form of the message, with the text that usually surrounds it.
func TestMessages(t *testing.T) {
	hint := " If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF"
	for _, c := range []struct {
		name, text string
		want       Message
	}{
		{"1.3", "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 10.92 GiB total capacity; 9.94 GiB already allocated; 19.50 MiB free; 71.68 MiB cached)",
			Message{Form: Torch, Tried: 20 * mib, Total: size2(10.92, gib), Allocated: size2(9.94, gib), Free: size2(19.5, mib), Unallocated: size2(71.68, mib)}},
		{"1.7", "RuntimeError: CUDA out of memory. Tried to allocate 1.17 GiB (GPU 3; 15.78 GiB total capacity; 13.01 GiB already allocated; 963.75 MiB free; 13.63 GiB reserved in total by PyTorch)",
			Message{Form: Torch, GPU: 3, Tried: size2(1.17, gib), Total: size2(15.78, gib), Allocated: size2(13.01, gib), Free: size2(963.75, mib), Unallocated: size2(13.63, gib) - size2(13.01, gib)}},
		{"1.9 with a cap", "RuntimeError: CUDA out of memory. Tried to allocate 2.00 MiB (GPU 0; 23.70 GiB total capacity; 3.90 GiB already allocated; 18.10 GiB free; 4.00 GiB allowed; 3.99 GiB reserved in total by PyTorch)",
			Message{Form: Torch, Tried: 2 * mib, Total: size2(23.7, gib), Allocated: size2(3.9, gib), Free: size2(18.1, gib), Limit: 4 * gib, Unallocated: size2(3.99, gib) - size2(3.9, gib)}},
		{"1.13", "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 40.00 MiB (GPU 0; 39.59 GiB total capacity; 37.16 GiB already allocated; 24.19 MiB free; 37.79 GiB reserved in total by PyTorch)" + hint,
			Message{Form: Torch, Tried: 40 * mib, Total: size2(39.59, gib), Allocated: size2(37.16, gib), Free: size2(24.19, mib), Unallocated: size2(37.79, gib) - size2(37.16, gib)}},
		{"2.1", "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 256.00 MiB. GPU 1 has a total capacty of 23.69 GiB of which 114.81 MiB is free. Process 2842 has 1.50 GiB memory in use. Including non-PyTorch memory, this process has 22.06 GiB memory in use. Of the allocated memory 20.86 GiB is allocated by PyTorch, and 768.50 MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting max_split_size_mb to avoid fragmentation.",
			Message{Form: Torch, GPU: 1, Tried: 256 * mib, Total: size2(23.69, gib), Free: size2(114.81, mib), Others: size2(1.5, gib), Process: size2(22.06, gib), Allocated: size2(20.86, gib), Unallocated: size2(768.5, mib)}},
		{"2.6 with a cap", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 100.00 MiB. GPU 0 has a total capacity of 256.00 MiB of which 156.00 MiB is free. 128.00 MiB allowed; Of the allocated memory 100.00 MiB is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated.",
			Message{Form: Torch, Tried: 100 * mib, Total: 256 * mib, Free: 156 * mib, Limit: 128 * mib, Allocated: 100 * mib}},
		{"2.11 with private pools", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.71 GiB. GPU 0 has a total capacity of 139.80 GiB of which 116.75 GiB is free. Including non-PyTorch memory, this process has 16.12 GiB memory in use. 16.00 GiB allowed; Of the allocated memory 15.35 GiB is allocated by PyTorch, with 3.49 GiB allocated in private pools (e.g., CUDA Graphs), and 33.02 MiB is reserved by PyTorch but unallocated.",
			Message{Form: Torch, Tried: size2(1.71, gib), Total: size2(139.8, gib), Free: size2(116.75, gib), Process: size2(16.12, gib), Limit: 16 * gib, Allocated: size2(15.35, gib), Private: size2(3.49, gib), Unallocated: size2(33.02, mib)}},
		{"NVML not available", "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 14.00 MiB. GPU 0 has a total capacity of 8.00 GiB of which 0 bytes is free. Including non-PyTorch memory, this process has 17179869184.00 GiB memory in use. Of the allocated memory 7.25 GiB is allocated by PyTorch, and 51.21 MiB is reserved by PyTorch but unallocated.",
			Message{Form: Torch, Tried: 14 * mib, Total: 8 * gib, Allocated: size2(7.25, gib), Unallocated: size2(51.21, mib), Impossible: true}},
		{"ROCm", "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 90.00 MiB. GPU 0 has a total capacity of 15.98 GiB of which 70.00 MiB is free. Of the allocated memory 15.10 GiB is allocated by PyTorch, and 310.02 MiB is reserved by PyTorch but unallocated.",
			Message{Form: Torch, Tried: 90 * mib, Total: size2(15.98, gib), Free: 70 * mib, Allocated: size2(15.1, gib), Unallocated: size2(310.02, mib)}},
		{"1 EB", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate more than 1EB memory.", Message{Form: Torch, GPU: -1, Impossible: true}},
		{"2.12, rejected", "torch.OutOfMemoryError: CUDA out of memory. Allocation was preemptively rejected because it would exceed per_process_memory_fraction limit. Requested size: 3.50 GiB",
			Message{Form: Torch, GPU: -1, Tried: size2(3.5, gib)}},
		{"Apple", "RuntimeError: MPS backend out of memory (MPS allocated: 17.96 GB, other allocations: 176.00 MB, max allowed: 18.13 GB). Tried to allocate 256.00 MB on private pool.",
			Message{Form: MPS, GPU: -1, Allocated: size2(17.96, gib), Others: 176 * mib, Limit: size2(18.13, gib), Tried: 256 * mib}},
		{"JAX", "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4294967296 bytes.", Message{Form: XLA, GPU: -1, Tried: 4 * gib}},
		{"TensorFlow", "ResourceExhaustedError: OOM when allocating tensor with shape[64,512,30522] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc", Message{Form: TensorFlow, Tried: 64 * 512 * 30522 * 4}},
		{"NCCL", "node1:212:340 [2] NCCL WARN Failed to CUDA calloc 536870912 bytes", Message{Form: NCCL, GPU: -1, Tried: 512 * mib}},
		{"cuBLAS", "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", Message{Form: Library, GPU: -1}},
		{"driver", "RuntimeError: CUDA error: out of memory", Message{Form: Driver, GPU: -1}},
		{"host", "RuntimeError: [enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 12582912 bytes. Error code 12 (Cannot allocate memory)", Message{Form: Host, GPU: -1, Tried: 12 * mib}},
		{"numpy", "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 7.45 GiB for an array with shape (1000000000,) and data type float64", Message{Form: Host, GPU: -1, Tried: size2(7.45, gib)}},
		{"worker", "RuntimeError: DataLoader worker (pid 28145) is killed by signal: Killed. ", Message{Form: Worker, GPU: -1}},
		{"shared memory", "RuntimeError: DataLoader worker (pid 4) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit. ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).", Message{Form: Shared, GPU: -1}},
		{"Slurm", "slurmstepd: error: Detected 1 oom_kill event in StepId=881.0. Some of the step tasks have been OOM Killed.", Message{Form: Killed, GPU: -1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, around := range []string{"%", "[rank3]: %", "2025-02-11 09:14:03,120 ERROR trainer.py:77 - %", "\x1b[31m%\x1b[0m", "node-4: 1: %"} {
				log, err := ReadLog(strings.NewReader("step 3 loss 2.1\n" + strings.Replace(around, "%", c.text, 1) + "\nleft\n"))
				if err != nil || len(log.Messages) != 1 {
					t.Fatalf("%s: %d messages, %v; want 1", around, len(log.Messages), err)
				}
				got := log.Messages[0].Message
				if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(Message{}, "Line", "Prefix", "Device"), cmpopts.IgnoreUnexported(Message{})); diff != "" {
					t.Errorf("%s: (-want +got)\n%s", around, diff)
				}
			}
		})
	}
}

// TestWrappedMessage reads texts copied from an 80-column terminal.
func TestWrappedMessage(t *testing.T) {
	text := "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 500.00 MiB. GPU 0\nhas a total capacity of 79.25 GiB of which 132.28 MiB is free. Including\nnon-PyTorch memory, this process has 79.10 GiB memory in use. Of the allocated\nmemory 74.45 GiB is allocated by PyTorch, and 4.01 GiB is reserved by PyTorch\nbut unallocated.\n"
	log, err := ReadLog(strings.NewReader(text))
	if err != nil || len(log.Messages) != 1 {
		t.Fatalf("%d messages, %v; want 1", len(log.Messages), err)
	}
	if m := log.Messages[0]; m.Allocated != size2(74.45, gib) || m.Unallocated != size2(4.01, gib) || m.Total != size2(79.25, gib) {
		t.Errorf("got %+v", m.Message)
	}
}

// TestAsyncMessage reads cudaMallocAsync's text, which has one figure per line.
func TestAsyncMessage(t *testing.T) {
	text := "torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of memory)\nCurrently allocated     : 21.45 GiB\nRequested               : 1.50 GiB\nDevice limit            : 23.69 GiB\nFree (according to CUDA): 18.81 MiB\nPyTorch limit (set by user-supplied memory fraction)\n                        : 17179869184.00 GiB\n"
	log, err := ReadLog(strings.NewReader(text))
	if err != nil || len(log.Messages) != 1 {
		t.Fatalf("%d messages, %v; want 1", len(log.Messages), err)
	}
	if m := log.Messages[0]; m.Allocated != size2(21.45, gib) || m.Tried != size2(1.5, gib) || m.Total != size2(23.69, gib) || m.Limit != 0 {
		t.Errorf("got %+v", m.Message)
	}
}

// TestUsersFrames checks that neither snug's probe nor C++ counts as the user's code.
func TestUsersFrames(t *testing.T) {
	for file, want := range map[string]bool{
		"train.py": true, "/home/me/project/model.py": true,
		"/tmp/snug-1/sitecustomize.py": false, "/pytorch/torch/csrc/profiler/combined_traceback.cpp": false, "memory_snapshot.cpp": false, "??": false,
		"/usr/lib/python3.12/runpy.py": false, "/venv/lib/python3.11/site-packages/torch/nn/modules/module.py": false,
	} {
		if got := (Frame{File: file}).users(); got != want {
			t.Errorf("%s: %v, want %v", file, got, want)
		}
	}
}
