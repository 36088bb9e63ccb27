import argparse

import torch
from torch.utils.data import DataLoader, TensorDataset
from transformers import AutoConfig, AutoModelForCausalLM


def get_loader(n, args, vocab, shuffle):
    return DataLoader(TensorDataset(torch.randint(vocab, (n, args.seq_len))), batch_size=args.batch_size, shuffle=shuffle)


@torch.no_grad()
def validate(model, loader, device, where):
    """perplexity and top-1 over the whole validation set"""
    model.eval()
    all_logits, all_labels = [], []
    for (ids,) in loader:
        ids = ids.to(device)
        logits = model(ids).logits
        if where == "cpu":
            all_logits.append(logits.cpu())
            all_labels.append(ids.cpu())
        else:
            all_logits.append(logits)
            all_labels.append(ids)
    logits = torch.cat(all_logits, dim=0)
    labels = torch.cat(all_labels, dim=0)
    loss = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
    acc = (logits[:, :-1].argmax(-1) == labels[:, 1:]).float().mean()
    model.train()
    return loss.exp().item(), acc.item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config")
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--seq-len", type=int, default=256)
    parser.add_argument("--eval-every", type=int, default=3)
    parser.add_argument("--eval-batches", type=int, default=3)
    parser.add_argument("--collect-on", choices=["gpu", "cpu"], default="gpu")
    args = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    config = AutoConfig.from_pretrained(args.config)
    model = AutoModelForCausalLM.from_config(config).to(device)
    train_loader = get_loader(6 * args.batch_size, args, config.vocab_size, True)
    val_loader = get_loader(args.eval_batches * args.batch_size, args, config.vocab_size, False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
    for step, (ids,) in enumerate(train_loader, 1):
        ids = ids.to(device)
        loss = model(ids, labels=ids).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % args.eval_every == 0:
            ppl, acc = validate(model, val_loader, device, args.collect_on)
            print(f"step {step} train {loss.item():.3f} ppl {ppl:.1f} acc {acc:.4f}")


if __name__ == "__main__":
    main()
