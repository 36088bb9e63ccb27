import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F
from transformers import AutoConfig, AutoModelForCausalLM


class SmoothedLMLoss(nn.Module):
    def __init__(self, smoothing=0.1, ignore_index=-100):
        super().__init__()
        self.smoothing = smoothing
        self.ignore_index = ignore_index

    def forward(self, logits, labels):
        shift_logits = logits[..., :-1, :].contiguous().float()
        shift_labels = labels[..., 1:].contiguous()
        log_probs = F.log_softmax(shift_logits, dim=-1)
        nll = -log_probs.gather(dim=-1, index=shift_labels.unsqueeze(-1)).squeeze(-1)
        smooth = -log_probs.mean(dim=-1)
        loss = (1 - self.smoothing) * nll + self.smoothing * smooth
        return loss.mean()


def train_step(model, criterion, optimizer, ids, amp_dtype, device_type):
    with torch.autocast(device_type=device_type, dtype=amp_dtype):
        logits = model(ids).logits
    loss = criterion(logits, ids)
    optimizer.zero_grad()
    loss.backward()
    gn = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item(), gn.item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config", required=True)
    ap.add_argument("--batch-size", type=int, default=4)
    ap.add_argument("--seq-len", type=int, default=256)
    ap.add_argument("--smoothing", type=float, default=0.1)
    args = ap.parse_args()
    device_type = "cuda" if torch.cuda.is_available() else "cpu"
    cfg = AutoConfig.from_pretrained(args.config)
    model = AutoModelForCausalLM.from_config(cfg, dtype=torch.float32).to(device_type).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, foreach=False)
    criterion = SmoothedLMLoss(args.smoothing)
    for step in range(6):
        ids = torch.randint(cfg.vocab_size, (args.batch_size, args.seq_len), device=device_type)
        loss, norm = train_step(model, criterion, optimizer, ids, torch.bfloat16, device_type)
        print(f"step {step} | loss {loss:.4f} | grad norm {norm:.2f}")


if __name__ == "__main__":
    main()
