"""MoCo-like contrastive learning for text: a momentum encoder and a queue of negatives."""
import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from transformers import AutoConfig, AutoModel


class TextEncoder(nn.Module):
    def __init__(self, config, dim):
        super().__init__()
        self.backbone = AutoModel.from_config(config)
        self.fc = nn.Linear(config.hidden_size, dim)

    def forward(self, ids):
        cls = self.backbone(input_ids=ids).last_hidden_state[:, 0]
        return F.normalize(self.fc(cls), dim=1)


class MoCo(nn.Module):
    def __init__(self, config, dim=128, K=4096, m=0.999, T=0.07):
        super().__init__()
        self.K, self.m, self.T = K, m, T
        self.encoder_q = TextEncoder(config, dim)
        self.encoder_k = copy.deepcopy(self.encoder_q)
        for p in self.encoder_k.parameters():
            p.requires_grad = False
        self.register_buffer("queue", F.normalize(torch.randn(dim, K), dim=0))
        self.register_buffer("queue_ptr", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def _momentum_update(self):
        for q, k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            k.data = k.data * self.m + q.data * (1.0 - self.m)

    @torch.no_grad()
    def _enqueue(self, keys):
        n = keys.shape[0]
        ptr = int(self.queue_ptr)
        where = torch.arange(ptr, ptr + n, device=keys.device) % self.K
        self.queue[:, where] = keys.T
        self.queue_ptr[0] = (ptr + n) % self.K

    def forward(self, x_q, x_k):
        q = self.encoder_q(x_q)
        with torch.no_grad():
            self._momentum_update()
            k = self.encoder_k(x_k)
        l_pos = torch.einsum("nc,nc->n", q, k).unsqueeze(-1)
        l_neg = torch.einsum("nc,ck->nk", q, self.queue.clone().detach())
        logits = torch.cat([l_pos, l_neg], dim=1) / self.T
        labels = torch.zeros(logits.shape[0], dtype=torch.long, device=logits.device)
        self._enqueue(k)
        return logits, labels


def corrupt(ids, vocab, p=0.2):
    noise = torch.randint_like(ids, vocab)
    return torch.where(torch.rand(ids.shape, device=ids.device) < p, noise, ids)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--seq-len", type=int, default=128)
    parser.add_argument("--iters", type=int, default=8)
    args = parser.parse_args()

    config = AutoConfig.from_pretrained(args.config)
    model = MoCo(config).cuda()
    criterion = nn.CrossEntropyLoss().cuda()
    optimizer = torch.optim.SGD(model.encoder_q.parameters(), 0.03, momentum=0.9, weight_decay=1e-4)
    model.train()
    for i in range(args.iters):
        ids = torch.randint(config.vocab_size, (args.batch_size, args.seq_len)).cuda()
        output, target = model(corrupt(ids, config.vocab_size), corrupt(ids, config.vocab_size))
        loss = criterion(output, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(i, f"{loss.item():.4f}", f"{(output.argmax(1) == target).float().mean().item():.3f}")
