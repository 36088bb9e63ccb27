# SPDX-License-Identifier: Apache-2.0
"""lightning 2.6.6: loaders and their batches."""
import snug
import torch


_INFINITE = 1000000000
_UNSEEN = 8  # batches of a loader whose length is not known


class _End:
    pass


_END = _End()  # what a loader gives after its last batch


def _number(value, otherwise):
    if isinstance(value, (int, float)):
        return value
    return otherwise


# utilities/combined_loader.py and loops/fetchers.py: batches stay in the host's memory
class _Fetcher:
    def __init__(self, loaders, limit):
        self.loaders = loaders
        self.fetched = 0
        self.done = False
        self.length = limit
        self.iterator = None

    def start(self):
        self.fetched = 0
        self.done = self.length == 0
        if isinstance(self.loaders, dict):
            self.iterator = {k: iter(v) for k, v in self.loaders.items()}
        elif isinstance(self.loaders, (list, tuple)):
            self.iterator = [iter(v) for v in self.loaders]
        else:
            self.iterator = iter(self.loaders)

    def next(self):
        if self.done:
            return _END
        if isinstance(self.iterator, dict):
            batch = {k: next(v, _END) for k, v in self.iterator.items()}
        elif isinstance(self.iterator, list):
            batch = [next(v, _END) for v in self.iterator]
        else:
            batch = next(self.iterator, _END)
        self.fetched += 1
        self.done = self.fetched >= self.length
        return batch

    # what follows is the epoch's last batch
    def hurry(self):
        snug.to_last(self.iterator)
        self.length = self.fetched + 1


# utilities/data.py: has_len_all_ranks asks on the card
def _has_len_all_ranks(local_length):
    if local_length >= _INFINITE:
        return
    total_length = torch.tensor(local_length, device="cuda")
    total_length == 0
    total_length > 0


def _one_length(loader):
    length = _number(len(loader), _INFINITE)
    _has_len_all_ranks(length)
    return length


def _length(loaders, limit):
    if isinstance(loaders, dict):
        length = max([_one_length(v) for v in loaders.values()])
    elif isinstance(loaders, (list, tuple)):
        length = max([_one_length(v) for v in loaders])
    else:
        length = _one_length(loaders)
    if isinstance(limit, int):
        return min(length, limit)
    if isinstance(limit, float) and length < _INFINITE:
        return int(length * limit)
    return length
