"""Two ranks that wait for each other after each step. The last one runs out of memory after two steps, on a card that
torch.cuda pretends to have; the other one would wait for it for ever. Started as a launcher does, or with ranks in the
environment."""
import os
import time
import types

import torch


class Event:
    def __init__(self, enable_timing):
        assert enable_timing

    def record(self):
        pass

    def elapsed_time(self, other):
        return 250.0

    def query(self):
        return True


cuda, observers, rank = torch.cuda, [], int(os.environ.get("RANK", "1"))
peak = 40 + 10 * rank
stats = dict(allocated_bytes=dict(all=dict(current=10, peak=peak // 2)), reserved_bytes=dict(all=dict(current=30, peak=peak)), num_alloc_retries=0)
cuda.is_initialized = lambda: True
cuda.is_current_stream_capturing = lambda: False
cuda.current_device = lambda: 0
cuda.synchronize = lambda *device: None
cuda.Event = Event
cuda.mem_get_info = lambda *device: (60, 100)
cuda.get_device_properties = lambda *device: types.SimpleNamespace(name="Pretended GPU", major=9, minor=0, total_memory=100)
cuda.memory_stats_as_nested_dict = lambda *device: stats
torch._C._cuda_attach_out_of_memory_observer = observers.append
for call, _ in cuda._queued_calls:  # as CUDA does on initialization
    call()

w = torch.zeros(3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for step in range(2):
    w.sum().backward()
    optimizer.step()
here = os.path.join(os.environ["SNUG_RUN"], "rank0.done")
if rank == 0:
    open(here, "w").close()
if rank == 1:
    while os.environ.get("WORLD_SIZE") and not os.path.exists(here):
        time.sleep(0.05)
    observers[0](0, 7 << 20, 100 << 20, 6 << 20)
    raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 7.00 MiB")
time.sleep(600)
