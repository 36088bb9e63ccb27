# SPDX-License-Identifier: Apache-2.0
"""The program's answers as types. Each result has the complete answer in raw, which may have more fields in newer versions."""
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Tuple


@dataclass(frozen=True)
class Estimate:
    """The memory of one run, in bytes."""

    id: str
    peak_allocated: int  # the most bytes in tensors
    peak_reserved: int  # the most bytes that PyTorch reserves
    outside: int  # outside PyTorch's allocator: the CUDA context and loaded kernels
    device_peak: int  # peak_reserved plus outside
    phases: Dict[str, int]  # peak allocated in load, forward, backward, optimizer
    components: Dict[str, int]  # what the memory at the peak is used for; they sum to peak_reserved
    source: str  # "simulated" or "recorded"
    interval: Tuple[int, int]  # expected range of peak_reserved
    params: int
    trainable: int
    step_seconds: Optional[float]  # of one optimizer step; None if no card was given
    fits: Optional[bool]  # None if neither a card nor a limit was given
    notes: List[str]  # what was not counted, or was assumed
    raw: Mapping[str, Any]


@dataclass(frozen=True)
class MaxBatch:
    """The largest batch that fits."""

    id: str
    max_batch: int  # 0 if even 1 does not fit
    peak_reserved: int  # at that batch, or at 1
    sure_batch: int  # the largest that fits even if the estimate is as wrong as earlier ones were
    notes: List[str]
    raw: Mapping[str, Any]


@dataclass(frozen=True)
class Choice:
    """Settings with their memory and speed."""

    settings: Dict[str, Any]  # the setup's field names; always batch, accumulation and checkpointing
    estimate: Estimate
    samples_per_second: float
    raw: Mapping[str, Any]


@dataclass(frozen=True)
class Rung:
    """One of four plans, from the most cautious to the largest."""

    name: str  # safe, medium, aggressive or maximum
    choice: Optional[Choice]  # None if nothing fits with that margin
    raw: Mapping[str, Any]


@dataclass(frozen=True)
class Lever:
    """A change, what it saves in bytes, and what it costs."""

    change: str
    saves: int
    costs: str


@dataclass(frozen=True)
class Rejected:
    """Settings that were not chosen, and why."""

    settings: Dict[str, Any]
    why: str


@dataclass(frozen=True)
class FileChange:
    """A value in a config file that the recommended settings change."""

    path: str
    key: str
    was: str
    to: str


@dataclass(frozen=True)
class Plan:
    """The settings that train fastest on a card."""

    gpu: Any
    current: Choice
    recommended: Optional[Choice]  # None if nothing fits
    ladder: List[Rung]
    levers: List[Lever]
    rejected: List[Rejected]
    files: List[FileChange]
    notes: List[str]
    raw: Mapping[str, Any]


def estimate_of(x: Mapping[str, Any]) -> Estimate:
    low, high = x.get("interval") or (x["peak_reserved"], x["peak_reserved"])
    return Estimate(
        id=x.get("id", ""), peak_allocated=x["peak_allocated"], peak_reserved=x["peak_reserved"], outside=x["outside"],
        device_peak=x["device_peak"], phases=dict(x.get("phases") or {}), components=dict(x.get("components") or {}),
        source=x.get("source", ""), interval=(low, high), params=x.get("params", 0), trainable=x.get("trainable", 0),
        step_seconds=x.get("step_seconds"), fits=x.get("fits"), notes=list(x.get("notes") or []), raw=x)


def max_batch_of(x: Mapping[str, Any]) -> MaxBatch:
    return MaxBatch(id=x.get("id", ""), max_batch=x["max_batch"], peak_reserved=x["peak_reserved"],
                    sure_batch=x.get("sure_batch", 0), notes=list(x.get("notes") or []), raw=x)


def choice_of(x: Mapping[str, Any]) -> Choice:
    return Choice(settings=dict(x["settings"]), estimate=estimate_of(x["estimate"]),
                  samples_per_second=x.get("samples_per_second", 0.0), raw=x)


def plan_of(x: Mapping[str, Any]) -> Plan:
    best = x.get("recommended")
    return Plan(
        gpu=x.get("gpu"), current=choice_of(x["current"]), recommended=choice_of(best) if best else None,
        ladder=[Rung(r["name"], choice_of(r) if r.get("settings") else None, r) for r in x.get("ladder") or []],
        levers=[Lever(v["change"], v.get("saves", 0), v.get("costs", "")) for v in x.get("levers") or []],
        rejected=[Rejected(dict(r.get("settings") or {}), r.get("why", "")) for r in x.get("rejected") or []],
        files=[FileChange(f["path"], f["key"], f.get("from", ""), f.get("to", "")) for f in x.get("files") or []],
        notes=list(x.get("notes") or []), raw=x)
