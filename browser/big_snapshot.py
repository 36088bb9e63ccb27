# SPDX-License-Identifier: Apache-2.0
"""Writes a memory snapshot of about MB megabytes in the format of torch.cuda.memory._dump_snapshot: big_snapshot.py FILE MB

The run is synthetic: the steps of a 48-layer model allocate in forward and free in backward, with a stack for each call.
"""

import pickle
import sys

MIB, BASE, LAYERS = 1 << 20, 0x7F0000000000, 48


def stack(layer: int, op: str) -> list[dict]:
    frames = [{"name": op, "filename": "torch/nn/functional.py", "line": 100 + len(op)}]
    for depth in range(12):
        frames += [
            {"name": "forward", "filename": "models/block.py", "line": 40 + layer * 3 + depth},
            {"name": "_call_impl", "filename": "torch/nn/modules/module.py", "line": 1740 + depth % 2},
        ]
    return frames + [{"name": "<module>", "filename": "train.py", "line": 33}]


def step(stacks: list, sizes: list, start: int, time: int) -> list[dict]:
    """Returns the events of one optimizer step, in which everything allocated is freed in reverse order."""
    held, events, at = [], [], start
    for frames, size in zip(stacks, sizes):
        held.append((at, size))
        events.append({"action": "alloc", "addr": at, "size": size, "stream": 0, "time_us": time + len(events), "frames": frames})
        at += size
    for addr, size in reversed(held):
        for action in ("free_requested", "free_completed"):
            events.append({"action": action, "addr": addr, "size": size, "stream": 0, "time_us": time + len(events), "frames": []})
    return events


def main(path: str, megabytes: int) -> None:
    stacks = [stack(layer, op) for layer in range(LAYERS) for op in ("linear", "gelu", "softmax", "layer_norm", "dropout")]
    sizes = [MIB * (1 + i % 7) for i in range(len(stacks))]
    weights, total = 512 * MIB, 512 * MIB + sum(sizes)
    trace = [
        {"action": "segment_alloc", "addr": BASE, "size": total, "stream": 0, "time_us": 1, "frames": stacks[0]},
        {"action": "alloc", "addr": BASE, "size": weights, "stream": 0, "time_us": 2, "frames": stacks[0]},
    ]
    two = [step(stacks, sizes, BASE + weights, 10**15 + n * 10**6) for n in range(2)]
    size_of_a_step = len(pickle.dumps(two)) - len(pickle.dumps(two[:1]))  # each stack is pickled only once
    for n in range(megabytes * 10**6 // size_of_a_step):
        trace += step(stacks, sizes, BASE + weights, 10**15 + n * 10**6)
    blocks = [
        {"address": BASE, "size": weights, "requested_size": weights, "state": "active_allocated", "frames": stacks[0]},
        {"address": BASE + weights, "size": total - weights, "requested_size": 0, "state": "inactive", "frames": []},
    ]
    segment = {
        "device": 0, "address": BASE, "total_size": total, "allocated_size": weights, "active_size": weights, "requested_size": weights,
        "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False, "frames": stacks[0], "blocks": blocks,
    }
    with open(path, "wb") as out:
        pickle.dump({"segments": [segment], "device_traces": [trace], "allocator_settings": {}}, out, protocol=4)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
