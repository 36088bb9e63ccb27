"""Trains on the CPU with a fake torch.cuda that answers every call that the
probe makes on a real card, so that its code for GPUs runs without one. Time is simulated
too: a step takes 10 ms, and querying the allocator takes 1 ms."""
import sys
import time
import types

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

cuda, calls, clock = torch.cuda, [], [0.0]
time.perf_counter = lambda: clock[0]


class Event:
    def __init__(self, enable_timing):
        assert enable_timing

    def record(self):
        calls.append("record")

    def elapsed_time(self, other):
        return 250.0

    def query(self):
        return True


def record_history(enabled="all", context="all", **kwargs):
    calls.append("history %s %s" % (enabled, context) if enabled else "history off")


def memory_stats(device):
    clock[0] += 0.001
    calls.append("stats")
    return stats


def later_hook(optimizer, args, kwargs):
    """Installed by other code after the probe's; the probe must not break it."""
    clock[0] += 0.010


stats = dict(allocated_bytes=dict(all=dict(current=10, peak=20)), reserved_bytes=dict(all=dict(current=30, peak=40)), num_alloc_retries=1)
cuda.is_initialized = lambda: True
cuda.is_current_stream_capturing = lambda: False
cuda.current_device = lambda: 0
cuda.synchronize = lambda: calls.append("synchronize")
cuda.Event = Event
cuda.memory_stats_as_nested_dict = memory_stats
cuda.mem_get_info = lambda device: (60, 100)
cuda.get_device_properties = lambda device: types.SimpleNamespace(name="Pretended GPU", major=9, minor=0, total_memory=100)
cuda.set_per_process_memory_fraction = lambda share, device: calls.append("fraction %g of %d" % (share, device))
cuda.memory._record_memory_history = record_history
cuda.memory._snapshot = lambda: dict(segments=[], device_traces=[[1, 2, 3]])
torch._C._cuda_attach_out_of_memory_observer = lambda f: f(0, 7, 100, 60)

for call, _ in cuda._queued_calls:  # as when CUDA starts
    call()
backward = torch.autograd.backward.__wrapped__
register_optimizer_step_post_hook(later_hook)
w = torch.zeros(3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for i in range(int(sys.argv[1])):
    w.sum().backward()
    optimizer.step()
if torch.autograd.backward is backward:
    calls.append("backward as it was")
for call in calls:
    print(call)
