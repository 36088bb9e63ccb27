"""Compress an encoder: the student has every second layer, matched on hidden states + MLM logits."""
import argparse
import copy

import torch
import torch.nn.functional as F
from transformers import AutoConfig, AutoModelForMaskedLM


def build(args, device):
    t_cfg = AutoConfig.from_pretrained(args.config)
    s_cfg = copy.deepcopy(t_cfg)
    s_cfg.num_hidden_layers = max(1, t_cfg.num_hidden_layers // 2)
    teacher = AutoModelForMaskedLM.from_config(t_cfg).to(device)
    student = AutoModelForMaskedLM.from_config(s_cfg).to(device)
    teacher.eval()
    for p in teacher.parameters():
        p.requires_grad = False
    return teacher, student


def distill_loss(s_out, t_out, temperature):
    kl = F.kl_div(F.log_softmax(s_out.logits / temperature, -1), F.softmax(t_out.logits / temperature, -1),
                  reduction="batchmean") * temperature ** 2
    hid = 0.0
    for i, h in enumerate(s_out.hidden_states):
        hid = hid + F.mse_loss(h, t_out.hidden_states[2 * i])
    return kl, hid


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config")
    ap.add_argument("--batch-size", type=int, default=8)
    ap.add_argument("--seq-len", type=int, default=128)
    ap.add_argument("--temperature", type=float, default=2.0)
    ap.add_argument("--steps", type=int, default=6)
    args = ap.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    teacher, student = build(args, device)
    opt = torch.optim.AdamW(student.parameters(), lr=1e-4)
    student.train()
    for step in range(args.steps):
        ids = torch.randint(student.config.vocab_size, (args.batch_size, args.seq_len), device=device)
        with torch.no_grad():
            t_out = teacher(ids, output_hidden_states=True)
        s_out = student(ids, output_hidden_states=True)
        kl, hid = distill_loss(s_out, t_out, args.temperature)
        loss = 0.5 * kl + 0.5 * hid
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(step, f"kl={kl.item():.3f} hid={hid.item():.3f}")


if __name__ == "__main__":
    main()
