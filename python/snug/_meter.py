# SPDX-License-Identifier: Apache-2.0
"""Sources of memory figures for the callbacks: PyTorch's CUDA allocator, or anything else with Meter's methods."""
import sys
from dataclasses import dataclass
from typing import Any, Callable, Dict, Optional

Observer = Callable[[int, int, int], None]  # bytes: requested, total on the card, free


@dataclass(frozen=True)
class Reading:
    """The allocator at the end of a step, in bytes. Peaks are since the last reading."""

    allocated: int
    reserved: int
    peak_allocated: int
    peak_reserved: int
    retries: int  # times the cache was flushed to make room, since the process started
    used: int  # on the card, by all processes
    total: int  # on the card


class Meter:
    """Reads this process's memory. This base class has no card: a run on the CPU has steps but no memory figures."""

    def total(self) -> int:
        """Returns the card's memory, or 0 if there is no card."""
        return 0

    def limit(self) -> Optional[int]:
        """Returns the limit on what PyTorch may reserve, if one was set."""
        return None

    def card(self) -> Dict[str, Any]:
        """Returns the fields that identify the card in a recording."""
        return {"gpu": 0}

    def read(self) -> Optional[Reading]:
        """Returns the current memory, or None without a card, and resets the peaks."""
        return None

    def observe(self, observer: Observer) -> None:
        """Calls the observer when an allocation fails."""

    def record(self, entries: int) -> None:
        """Starts recording, keeping this many events for a snapshot."""

    def snapshot(self, path: str) -> bool:
        """Writes a snapshot for snug replay and snug diagnose, and returns whether it was written."""
        return False


class CUDAMeter(Meter):
    """PyTorch's caching allocator on the current device. It never initializes CUDA itself."""

    def __init__(self) -> None:
        import torch
        self.torch: Any = torch

    def total(self) -> int:
        cuda = self.torch.cuda
        return int(cuda.get_device_properties(cuda.current_device()).total_memory) if cuda.is_initialized() else 0

    def limit(self) -> Optional[int]:
        ask = getattr(self.torch.cuda, "get_per_process_memory_fraction", None)
        if ask is None or not self.torch.cuda.is_initialized():
            return None
        share = float(ask(self.torch.cuda.current_device()))
        return int(share * self.total()) if share < 1 else None

    def card(self) -> Dict[str, Any]:
        cuda = self.torch.cuda
        device = cuda.current_device()
        properties = cuda.get_device_properties(device)
        out = {"gpu": device, "name": str(properties.name)}
        if getattr(properties, "uuid", None):
            out["uuid"] = "GPU-%s" % properties.uuid
        return out

    def read(self) -> Optional[Reading]:
        cuda = self.torch.cuda
        if not cuda.is_initialized() or cuda.is_current_stream_capturing():
            return None
        stats = cuda.memory_stats()
        free, total = cuda.mem_get_info()
        cuda.reset_peak_memory_stats()

        def of(what: str, which: str) -> int:
            return int(stats.get("%s_bytes.all.%s" % (what, which), 0))
        return Reading(of("allocated", "current"), of("reserved", "current"), of("allocated", "peak"), of("reserved", "peak"),
                       int(stats.get("num_alloc_retries", 0)), total - free, total)

    def observe(self, observer: Observer) -> None:
        def called(device: int, asked: int, total: int, free: int) -> None:
            observer(asked, total, free)
        attach = self.torch._C._cuda_attach_out_of_memory_observer
        self.torch.cuda._lazy_call(lambda: attach(called))

    def record(self, entries: int) -> None:
        if "_snug_probe" in sys.modules:
            return  # snug profile is already recording this run
        history = self.torch.cuda.memory._record_memory_history
        self.torch.cuda._lazy_call(lambda: history(max_entries=entries))

    def snapshot(self, path: str) -> bool:
        if not self.torch.cuda.is_initialized():
            return False
        self.torch.cuda.memory._dump_snapshot(path)
        return True


def meter_of_this_process() -> Meter:
    """Returns the meter for the GPU that this process would use."""
    import torch
    return CUDAMeter() if torch.cuda.is_available() else Meter()
