"""Runs out of memory three times on a card that torch.cuda pretends to have: twice the program continues, then it
fails."""
import torch

cuda, observers, taken = torch.cuda, [], [0]
zeros = dict(allocated_bytes=dict(all=dict(current=10, peak=20)), reserved_bytes=dict(all=dict(current=30, peak=40)))


def snapshot():
    taken[0] += 1
    return dict(segments=[], device_traces=[[]], taken=taken[0])


cuda.is_initialized = lambda: True
cuda.is_current_stream_capturing = lambda: False
cuda.current_device = lambda: 0
cuda.synchronize = lambda: None
cuda.memory_stats_as_nested_dict = lambda device: zeros
cuda.memory._record_memory_history = lambda **how: print("history", how["enabled"], how["context"], how["max_entries"])
cuda.memory._snapshot = snapshot
torch._C._cuda_attach_out_of_memory_observer = observers.append

for call, _ in cuda._queued_calls:  # as when CUDA starts
    call()
for i in range(3):
    observers[0](0, 7 << 20, 100 << 20, 6 << 20)
raise RuntimeError("CUDA out of memory. Tried to allocate 7.00 MiB")
