import argparse, torch
from torch import nn
from torch.utils.data import DataLoader
from transformers import AutoConfig, AutoModel

class SupConLoss(nn.Module):
    def __init__(self, temperature=0.07):
        super().__init__()
        self.t = temperature
    def forward(self, features, labels):
        device = features.device
        n = features.shape[0]
        labels = labels.contiguous().view(-1, 1)
        mask = torch.eq(labels, labels.T).float().to(device)
        logits = torch.div(torch.matmul(features, features.T), self.t)
        logits_max, _ = torch.max(logits, dim=1, keepdim=True)
        logits = logits - logits_max.detach()
        logits_mask = torch.ones_like(mask) - torch.eye(n, device=device)
        mask = mask * logits_mask
        exp_logits = torch.exp(logits) * logits_mask
        log_prob = logits - torch.log(exp_logits.sum(1, keepdim=True))
        mean_log_prob_pos = (mask * log_prob).sum(1) / mask.sum(1).clamp(min=1)
        return -mean_log_prob_pos.mean()

class Model(nn.Module):
    def __init__(self, cfg, classes):
        super().__init__()
        self.encoder = AutoModel.from_config(cfg)
        self.proj = nn.Sequential(nn.Linear(cfg.hidden_size, cfg.hidden_size), nn.ReLU(), nn.Linear(cfg.hidden_size, 128))
        self.head = nn.Linear(cfg.hidden_size, classes)
    def forward(self, ids, mask):
        out = self.encoder(input_ids=ids, attention_mask=mask)
        h = out[0]
        pooled = (h * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True)
        z = nn.functional.normalize(self.proj(pooled), dim=1)
        return z, self.head(pooled)

p = argparse.ArgumentParser()
p.add_argument("--config"); p.add_argument("--batch-size", type=int, default=32); p.add_argument("--seq-len", type=int, default=64)
a = p.parse_args()
cfg = AutoConfig.from_pretrained(a.config)
m = Model(cfg, 20).to("cuda")
ids = torch.randint(0, cfg.vocab_size, (a.batch_size * 4, a.seq_len)); y = torch.randint(0, 20, (a.batch_size * 4,))
loader = DataLoader(torch.utils.data.TensorDataset(ids, torch.ones_like(ids), y), batch_size=a.batch_size, shuffle=True, drop_last=True)
opt = torch.optim.AdamW([{"params": m.encoder.parameters(), "lr": 2e-5}, {"params": list(m.proj.parameters()) + list(m.head.parameters()), "lr": 1e-3}])
sup, ce = SupConLoss(), nn.CrossEntropyLoss()
for epoch in range(2):
    for i, batch in enumerate(loader):
        ids, mask, y = [t.cuda() for t in batch]
        z, logits = m(ids, mask)
        loss = 0.5 * sup(z, y) + 0.5 * ce(logits, y)
        loss.backward()
        nn.utils.clip_grad_value_(m.parameters(), 1.0)
        opt.step(); opt.zero_grad()
