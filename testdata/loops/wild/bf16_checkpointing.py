import argparse
import torch
from transformers import AutoConfig, AutoModelForCausalLM, get_cosine_schedule_with_warmup

def main(config_dir, batch_size, seq_len, max_steps, report_every):
    config = AutoConfig.from_pretrained(config_dir)
    config.use_cache = False

    model = AutoModelForCausalLM.from_config(config)
    model = model.to(dtype=torch.bfloat16)
    model = model.to("cuda")
    model.gradient_checkpointing_enable()
    model.train()

    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, betas=(0.9, 0.95), weight_decay=0.1, foreach=True)
    scheduler = get_cosine_schedule_with_warmup(optimizer, 2, max_steps)

    for step in range(max_steps):
        ids = torch.randint(0, config.vocab_size, (batch_size, seq_len), device="cuda")
        out = model(input_ids=ids, attention_mask=torch.ones_like(ids), labels=ids)
        out.loss.backward()
        grad_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad(set_to_none=True)

        if step % report_every == 0:
            gib = torch.cuda.max_memory_allocated() / 2**30
            print(f"step={step} loss={out.loss.item():.4f} gnorm={grad_norm.item():.3f} mem={gib:.2f}GiB", flush=True)

if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--config", required=True)
    ap.add_argument("--batch-size", type=int, required=True)
    ap.add_argument("--seq-len", type=int, required=True)
    ap.add_argument("--max-steps", type=int, default=6)
    ap.add_argument("--report-every", type=int, default=1)
    a = ap.parse_args()
    main(a.config, a.batch_size, a.seq_len, a.max_steps, a.report_every)
