"""Trains on the CPU while torch.cuda pretends: every call that the probe makes of a
real card is answered, so that its path there is walked without one."""
import types

import torch

cuda, calls = torch.cuda, []


class Event:
    def __init__(self, enable_timing):
        assert enable_timing

    def record(self):
        calls.append("record")

    def elapsed_time(self, other):
        return 250.0


def record_history(enabled="all", **kwargs):
    calls.append("history %s" % enabled)


stats = dict(allocated_bytes=dict(all=dict(current=10, peak=20)), reserved_bytes=dict(all=dict(current=30, peak=40)), num_alloc_retries=1)
cuda.is_initialized = lambda: True
cuda.is_current_stream_capturing = lambda: False
cuda.current_device = lambda: 0
cuda.synchronize = lambda: calls.append("synchronize")
cuda.Event = Event
cuda.memory_stats_as_nested_dict = lambda device: stats
cuda.mem_get_info = lambda device: (60, 100)
cuda.get_device_properties = lambda device: types.SimpleNamespace(name="Pretended GPU", major=9, minor=0)
cuda.memory._record_memory_history = record_history
cuda.memory._snapshot = lambda: dict(segments=[], device_traces=[[1, 2, 3]])
torch._C._cuda_attach_out_of_memory_observer = lambda f: f(0, 7, 100, 60)

for call, _ in cuda._queued_calls:  # as when CUDA starts
    call()
w = torch.zeros(3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for i in range(10):
    w.sum().backward()
    optimizer.step()
print(calls)
