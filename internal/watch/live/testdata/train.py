"""Trains on the CPU while PyTorch reports a GPU: its memory figures are simulated here. It keeps a megabyte in every
step, and evaluates after every tenth."""
import torch

MIB = 1 << 20
now = dict(allocated=100 * MIB, reserved=200 * MIB, allocated_peak=150 * MIB, reserved_peak=200 * MIB)


def stats(device=None):
    def pools(what):
        return dict(all=dict(current=now[what], peak=now[what + "_peak"], allocated=0, freed=0))
    oversize = dict(current=0, peak=0, allocated=0, freed=0)  # not split by pool, as in PyTorch
    return dict(allocated_bytes=pools("allocated"), reserved_bytes=pools("reserved"), oversize_allocations=oversize,
                oversize_segments=oversize, num_alloc_retries=0)


def reset(device=None):
    now["allocated_peak"], now["reserved_peak"] = now["allocated"], now["reserved"]


class Card:
    total_memory = 1 << 30


queued = list(torch.cuda._queued_calls)
torch.cuda.is_initialized = lambda: True
torch.cuda.is_current_stream_capturing = lambda: False
torch.cuda.current_device = lambda: 0
torch.cuda.get_device_properties = lambda device: Card
torch.cuda.get_per_process_memory_fraction = lambda device=None: 0.5
torch._C._cuda_attach_out_of_memory_observer = lambda f: None
for home in (torch.cuda, torch.cuda.memory):
    home.memory_stats_as_nested_dict, home.reset_peak_memory_stats = stats, reset
for call, _ in queued:
    call()

model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data = torch.utils.data.DataLoader(torch.ones(480, 8), batch_size=12)
for step, batch in enumerate(data, 1):
    model(batch).sum().backward()
    now["allocated_peak"] = now["allocated"] + 70 * MIB + step * MIB
    now["allocated"] += MIB
    optimizer.step()
    optimizer.zero_grad()
    if step % 10 == 0:
        model.eval()
        with torch.no_grad():
            for _ in range(2):
                model(torch.ones(30, 8))
        model.train()
# The program sees the peak of the whole run, although the probe resets it in every step.
print("peak", torch.cuda.memory.memory_stats_as_nested_dict()["allocated_bytes"]["all"]["peak"] // MIB)
