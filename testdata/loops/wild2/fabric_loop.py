import argparse
import torch
from lightning.fabric import Fabric
from torch.utils.data import DataLoader, TensorDataset
from transformers import AutoConfig, AutoModelForCausalLM


def main(args):
    fabric = Fabric(accelerator="auto", devices=1, precision=args.precision)
    fabric.launch()
    fabric.seed_everything(42)
    cfg = AutoConfig.from_pretrained(args.config)
    with fabric.init_module():
        model = AutoModelForCausalLM.from_config(cfg)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.1)
    model, optimizer = fabric.setup(model, optimizer)
    loader = DataLoader(TensorDataset(torch.randint(cfg.vocab_size, (args.iters * args.batch_size, args.seq_len))), batch_size=args.batch_size)
    loader = fabric.setup_dataloaders(loader)

    model.train()
    for it, (ids,) in enumerate(loader):
        accumulating = (it + 1) % args.accumulate != 0
        with fabric.no_backward_sync(model, enabled=accumulating):
            loss = model(input_ids=ids, labels=ids).loss
            fabric.backward(loss / args.accumulate)
        if not accumulating:
            fabric.clip_gradients(model, optimizer, max_norm=1.0)
            optimizer.step()
            optimizer.zero_grad()
        fabric.print(f"iter {it} loss {loss.item():.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--seq-len", type=int, default=256)
    parser.add_argument("--iters", type=int, default=8)
    parser.add_argument("--accumulate", type=int, default=2)
    parser.add_argument("--precision", default="bf16-true")
    parser.add_argument("--lr", type=float, default=1e-4)
    main(parser.parse_args())
