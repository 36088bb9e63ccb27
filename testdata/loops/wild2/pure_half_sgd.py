import argparse
import torch
import torch.nn.functional as F
from transformers import AutoConfig, AutoModelForCausalLM

def get_args():
    p = argparse.ArgumentParser(description="pure fp16 fine-tune, static loss scale")
    p.add_argument("--config"); p.add_argument("--batch-size", type=int, default=2)
    p.add_argument("--seq-len", type=int, default=256); p.add_argument("--loss-scale", type=float, default=128.)
    p.add_argument("--steps", type=int, default=7)
    return p.parse_args()

if __name__ == "__main__":
    args = get_args()
    device = torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")
    config = AutoConfig.from_pretrained(args.config)
    model = AutoModelForCausalLM.from_config(config).half().to(device)
    model.config.use_cache = False
    sgd = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    for step in range(args.steps):
        data = torch.randint(0, config.vocab_size, (args.batch_size, args.seq_len + 1)).to(device)
        src, tgt = data[:, :-1], data[:, 1:]
        logits = model(src).logits
        loss = F.cross_entropy(logits.reshape(-1, logits.size(-1)), tgt.reshape(-1))
        (loss * args.loss_scale).backward()
        for param in model.parameters():
            if param.grad is not None:
                param.grad.div_(args.loss_scale)
        sgd.step()
        sgd.zero_grad(set_to_none=False)
        print(f"[{step}] {loss.item():.3f}")
