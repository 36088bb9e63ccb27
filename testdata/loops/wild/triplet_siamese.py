import argparse
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader
from transformers import AutoConfig, AutoModel


class Triplets(Dataset):
  def __init__(self, n, length, vocab):
    self.n, self.length, self.vocab = n, length, vocab

  def __len__(self):
    return self.n

  def __getitem__(self, i):
    anchor = torch.randint(self.vocab, (self.length,))
    positive = anchor.clone()
    flip = torch.rand(self.length) < 0.3
    positive[flip] = torch.randint(self.vocab, (int(flip.sum()),))
    negative = torch.randint(self.vocab, (self.length,))
    return anchor, positive, negative


class Encoder(nn.Module):
  def __init__(self, config, dim=128):
    super().__init__()
    self.backbone = AutoModel.from_config(config)
    self.project = nn.Linear(config.hidden_size, dim, bias=False)

  def forward(self, ids):
    states = self.backbone(ids).last_hidden_state
    return self.project(states.mean(dim=1))


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument('--config')
  parser.add_argument('--batch-size', type=int, default=16)
  parser.add_argument('--seq-len', type=int, default=128)
  flags = parser.parse_args()

  config = AutoConfig.from_pretrained(flags.config)
  encoder = Encoder(config).to('cuda')
  loader = DataLoader(Triplets(flags.batch_size * 8, flags.seq_len, config.vocab_size), flags.batch_size)
  criterion = nn.TripletMarginLoss(margin=1.0, p=2)
  optimizer = torch.optim.NAdam(encoder.parameters(), lr=2e-5)

  loss_sum = torch.zeros((), device='cuda')
  for anchor, positive, negative in loader:
    optimizer.zero_grad(set_to_none=False)
    a = encoder(anchor.to('cuda'))
    p = encoder(positive.to('cuda'))
    n = encoder(negative.to('cuda'))
    loss = criterion(a, p, n)
    loss.backward()
    optimizer.step()
    loss_sum += loss.detach()
  print('mean loss', (loss_sum / len(loader)).item())


if __name__ == '__main__':
  main()
