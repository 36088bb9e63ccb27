import argparse
import time

import torch
import torch.nn.functional as F
import yaml

from moe import MoELM


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config", default="config.yaml")
    args = ap.parse_args()
    cfg = yaml.safe_load(open(args.config))
    m, t = cfg["model"], cfg["train"]

    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    dev = torch.device("cuda:0")
    model = MoELM(m, t["seq_len"]).to(dev)
    n = sum(p.numel() for p in model.parameters())
    print(f"{n / 1e6:.1f}M parameters")

    decay = [p for p in model.parameters() if p.ndim >= 2]
    rest = [p for p in model.parameters() if p.ndim < 2]
    opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}],
                            lr=t["lr"], betas=(0.9, 0.95))
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=t["lr"], total_steps=t["steps"] + 1)

    for step in range(t["steps"]):
        t0 = time.time()
        opt.zero_grad()
        total = 0.0
        for _ in range(t["accum"]):
            ids = torch.randint(0, m["vocab"], (t["batch"], t["seq_len"] + 1), device=dev)
            inp, tgt = ids[:, :-1], ids[:, 1:]
            with torch.autocast("cuda", dtype=torch.bfloat16):
                logits, aux, z = model(inp)
                ce = F.cross_entropy(logits.float().view(-1, m["vocab"]), tgt.reshape(-1))
                loss = ce + t["aux_coef"] * aux + t["z_coef"] * z
            (loss / t["accum"]).backward()
            total += ce.detach()
        gn = torch.nn.utils.clip_grad_norm_(model.parameters(), t["clip"])
        opt.step()
        sched.step()
        print(f"step {step} ce {(total / t['accum']).item():.4f} aux {aux.item():.3f} gnorm {gn.item():.2f} "
              f"{time.time() - t0:.2f}s")


if __name__ == "__main__":
    main()
