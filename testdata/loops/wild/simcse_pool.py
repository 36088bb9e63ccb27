import argparse
import torch
from torch import nn, Tensor
import torch.nn.functional as F
from torch.utils.data import DataLoader
from transformers import AutoModel, AutoConfig


def average_pool(last_hidden_states: Tensor, attention_mask: Tensor) -> Tensor:
    last_hidden = last_hidden_states.masked_fill(~attention_mask[..., None].bool(), 0.0)
    return last_hidden.sum(dim=1) / attention_mask.sum(dim=1)[..., None]


class SimCSE(nn.Module):
    def __init__(self, config, proj_dim=256):
        super().__init__()
        self.encoder = AutoModel.from_config(config)
        self.mlp = nn.Sequential(nn.Linear(config.hidden_size, config.hidden_size), nn.Tanh(), nn.Dropout(0.1), nn.Linear(config.hidden_size, proj_dim))

    def encode(self, input_ids, attention_mask):
        outputs = self.encoder(input_ids=input_ids, attention_mask=attention_mask)
        pooled = average_pool(outputs.last_hidden_state, attention_mask)
        return F.normalize(self.mlp(pooled), p=2, dim=1)

    def forward(self, input_ids, attention_mask, temperature=0.05):
        z1 = self.encode(input_ids, attention_mask)
        z2 = self.encode(input_ids, attention_mask)
        sim = z1 @ z2.t() / temperature
        labels = torch.arange(sim.size(0), device=sim.device)
        return F.cross_entropy(sim, labels)


def collate_fn(rows):
    input_ids = torch.stack(rows)
    return {'input_ids': input_ids, 'attention_mask': torch.ones_like(input_ids)}


def train_epoch(model, loader, optimizer, scheduler, device):
    model.train()
    losses = []
    for batch in loader:
        batch = {key: value.to(device) for key, value in batch.items()}
        optimizer.zero_grad()
        with torch.amp.autocast('cuda', dtype=torch.bfloat16):
            loss = model(**batch)
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)


@torch.no_grad()
def embed_all(model, loader, device):
    model.eval()
    vectors = []
    for batch in loader:
        with torch.amp.autocast('cuda', dtype=torch.bfloat16):
            vectors.append(model.encode(batch['input_ids'].to(device), batch['attention_mask'].to(device)))
    return torch.cat(vectors)


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--config', required=True)
    parser.add_argument('--batch-size', type=int, default=64)
    parser.add_argument('--seq-len', type=int, default=64)
    parser.add_argument('--epochs', type=int, default=2)
    args = parser.parse_args()
    device = torch.device('cuda')
    cfg = AutoConfig.from_pretrained(args.config)
    texts = torch.randint(10, cfg.vocab_size - 100, (args.batch_size * 5, args.seq_len))
    loader = DataLoader(list(texts), batch_size=args.batch_size, shuffle=True, collate_fn=collate_fn)
    model = SimCSE(cfg).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-5)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=3e-5, total_steps=args.epochs * len(loader))
    for epoch in range(args.epochs):
        avg = train_epoch(model, loader, optimizer, scheduler, device)
        emb = embed_all(model, loader, device)
        print(f'epoch {epoch} loss {avg:.4f} spread {emb.std(0).mean().item():.4f}')
