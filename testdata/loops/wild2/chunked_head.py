"""LM training which never makes the whole logits tensor: the head and loss run over chunks, recomputed in backward."""
import argparse

import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint
from transformers import AutoConfig, AutoModelForCausalLM


def chunk_loss(hidden, weight, target):
    return F.cross_entropy((hidden @ weight.t()).float(), target, reduction="sum")


def lm_loss(model, ids, n_chunks):
    hidden = model.base_model(input_ids=ids, use_cache=False).last_hidden_state
    hidden = hidden[:, :-1].reshape(-1, hidden.size(-1))
    target = ids[:, 1:].reshape(-1)
    weight = model.get_output_embeddings().weight
    total = hidden.new_zeros((), dtype=torch.float32)
    for h, t in zip(hidden.chunk(n_chunks), target.chunk(n_chunks)):
        total = total + checkpoint(chunk_loss, h, weight, t, use_reentrant=False)
    return total / target.numel()


def main():
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--config", required=True)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--seq-len", type=int, default=512)
    parser.add_argument("--n-chunks", type=int, default=8)
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--steps", type=int, default=5)
    args = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    dtype = torch.bfloat16 if args.bf16 else torch.float32
    cfg = AutoConfig.from_pretrained(args.config)
    model = AutoModelForCausalLM.from_config(cfg, dtype=dtype).to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1)
    for step in range(args.steps):
        ids = torch.randint(cfg.vocab_size, (args.batch_size, args.seq_len), device=device)
        loss = lm_loss(model, ids, args.n_chunks)
        loss.backward()
        opt.step()
        opt.zero_grad()
        print(step, loss.item())


if __name__ == "__main__":
    main()
