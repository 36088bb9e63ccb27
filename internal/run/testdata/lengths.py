"""Trains on samples of 1 to 40 tokens, padded to the longest in their batch."""
import torch


class Samples(torch.utils.data.Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, i):
        return torch.ones(1 + i * 7 % 40)


def collate(samples):
    return torch.nn.utils.rnn.pad_sequence(samples, batch_first=True)


scale = torch.nn.Parameter(torch.ones(1))
optimizer = torch.optim.SGD([scale], lr=0.1)
for batch in torch.utils.data.DataLoader(Samples(), batch_size=4, collate_fn=collate):
    print(list(batch.shape), int(batch.sum()), flush=True)
    (batch * scale).sum().backward()
    optimizer.step()
