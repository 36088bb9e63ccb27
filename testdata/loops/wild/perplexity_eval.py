import argparse
import math

import torch
from torch.nn import CrossEntropyLoss
from torch.utils.data import DataLoader, TensorDataset, random_split
from transformers import AutoConfig, AutoModelForCausalLM


def evaluate_perplexity(model, loader, device):
    was_training = model.training
    model.eval()
    loss_fct = CrossEntropyLoss(reduction="sum")
    nll, count = 0.0, 0
    predictions = []
    with torch.inference_mode(), torch.autocast("cuda", dtype=torch.bfloat16):
        for (ids,) in loader:
            ids = ids.to(device)
            logits = model(ids).logits
            nll += loss_fct(logits[:, :-1].float().transpose(1, 2), ids[:, 1:]).item()
            count += ids[:, 1:].numel()
            predictions.append(logits.argmax(dim=-1).cpu())
    if was_training:
        model.train()
    return math.exp(nll / count), torch.cat(predictions)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--eval-batch-size", type=int, default=None)
    parser.add_argument("--seq-len", type=int, default=512)
    parser.add_argument("--eval-every", type=int, default=3)
    parser.add_argument("--train-batches", type=int, default=6)
    args = parser.parse_args()
    args.eval_batch_size = args.eval_batch_size or args.batch_size

    device = torch.device("cuda")
    config = AutoConfig.from_pretrained(args.config)
    model = AutoModelForCausalLM.from_config(config)
    model.to(device)
    n_train, n_valid = args.batch_size * args.train_batches, args.eval_batch_size * 2
    everything = TensorDataset(torch.randint(4, config.vocab_size, (n_train + n_valid, args.seq_len)))
    train_set, valid_set = random_split(everything, [n_train, n_valid])
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)
    valid_loader = DataLoader(valid_set, batch_size=args.eval_batch_size)

    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.01)
    model.train()
    step = 0
    for epoch in range(1):
        for (ids,) in train_loader:
            ids = ids.to(device)
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = model(ids, labels=ids).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            step += 1
            if step % args.eval_every == 0:
                ppl, preds = evaluate_perplexity(model, valid_loader, device)
                print(f"step {step}: loss {loss.item():.3f} ppl {ppl:.1f} distinct predictions {preds.unique().numel()}")


if __name__ == "__main__":
    main()
