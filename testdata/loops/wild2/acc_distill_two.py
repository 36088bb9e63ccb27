import argparse
import torch
import torch.nn.functional as F
from accelerate import Accelerator
from torch.utils.data import DataLoader
from tqdm import tqdm
from transformers import AutoConfig, AutoModelForCausalLM


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--teacher", required=True)
    p.add_argument("--student", required=True)
    p.add_argument("--batch-size", type=int, default=2)
    p.add_argument("--seq-len", type=int, default=256)
    p.add_argument("--top-k", type=int, default=64)
    p.add_argument("--steps", type=int, default=6)
    args = p.parse_args()
    acc = Accelerator(mixed_precision="bf16")
    t_cfg, s_cfg = AutoConfig.from_pretrained(args.teacher), AutoConfig.from_pretrained(args.student)
    vocab = min(t_cfg.vocab_size, s_cfg.vocab_size)
    teacher = AutoModelForCausalLM.from_config(t_cfg).to(acc.device, dtype=torch.bfloat16).eval().requires_grad_(False)
    student = AutoModelForCausalLM.from_config(s_cfg)
    opt = torch.optim.AdamW(student.parameters(), lr=1e-4, weight_decay=0.0)
    data = [torch.randint(vocab, (args.seq_len,)) for _ in range(args.steps * args.batch_size)]
    student, opt, loader = acc.prepare(student, opt, DataLoader(data, batch_size=args.batch_size))
    bar = tqdm(loader, disable=not acc.is_local_main_process)
    for ids in bar:
        with torch.no_grad():
            top = teacher(ids).logits[..., :vocab].topk(args.top_k, dim=-1)
            probs = top.values.float().softmax(-1)
        logits = student(ids).logits
        logp = F.log_softmax(logits.float(), dim=-1).gather(-1, top.indices)
        loss = -(probs * logp).sum(-1).mean()
        acc.backward(loss)
        acc.clip_grad_norm_(student.parameters(), max_norm=1.0)
        opt.step()
        opt.zero_grad()
        bar.set_description(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
