"""Trains on texts padded to the longest in a batch, with a fake torch.cuda."""
import types

import torch
from torch import nn
from torch.utils.data import DataLoader

cuda = torch.cuda
stats = dict(allocated_bytes=dict(all=dict(current=1, peak=2)), reserved_bytes=dict(all=dict(current=3, peak=4)))
cuda.is_initialized = lambda: True
cuda.is_current_stream_capturing = lambda: False
cuda.current_device = lambda: 0
cuda.synchronize = lambda: None
cuda.Event = lambda enable_timing: types.SimpleNamespace(record=lambda: None, elapsed_time=lambda other: 1.0)
cuda.memory_stats_as_nested_dict = lambda device: stats
cuda.mem_get_info = lambda device: (60, 100)
cuda.get_device_properties = lambda device: types.SimpleNamespace(name="Pretended GPU", major=9, minor=0)
cuda.memory._record_memory_history = lambda *args, **kwargs: None
cuda.memory._snapshot = lambda: dict(segments=[], device_traces=[[]])
torch._C._cuda_attach_out_of_memory_observer = lambda f: None
for call, _ in cuda._queued_calls:  # as when CUDA starts
    call()


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.out = nn.Embedding(100, 8), nn.Linear(8, 2)

    def forward(self, ids, mask=None):
        return self.out(self.embed(ids).mean(1))


def collate(items):
    return nn.utils.rnn.pad_sequence(items, batch_first=True)


data = [torch.full((3 + i * 7 % 20,), 1 + i) for i in range(40)]
model = Classifier()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for ids in DataLoader(data, 4, collate_fn=collate):
    model(ids, mask=(ids != 0)).sum().backward()
    optimizer.step()
