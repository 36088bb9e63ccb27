import argparse
import torch
from torch.optim.swa_utils import SWALR, AveragedModel
from torch.utils.data import DataLoader, TensorDataset
from transformers import AutoConfig, AutoModelForMaskedLM


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--seq-len", type=int, default=128)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--swa-start", type=int, default=2)
    args = parser.parse_args()

    device = torch.device("cuda")
    config = AutoConfig.from_pretrained(args.config)
    model = AutoModelForMaskedLM.from_config(config).to(device)
    swa_model = AveragedModel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.95)
    swa_scheduler = SWALR(optimizer, swa_lr=5e-5)

    tokens = torch.randint(5, config.vocab_size, (args.batch_size * 3, args.seq_len))
    loader = DataLoader(TensorDataset(tokens), batch_size=args.batch_size, shuffle=True)

    for epoch in range(args.epochs):
        model.train()
        total_loss = 0
        for (x,) in loader:
            x = x.to(device)
            keep = torch.rand(x.shape, device=device) > 0.15
            labels = x.masked_fill(keep, -100)
            with torch.autocast("cuda", dtype=torch.bfloat16):
                out = model(input_ids=x.masked_fill(~keep, 4), labels=labels)
            optimizer.zero_grad()
            out.loss.backward()
            optimizer.step()
            total_loss += out["loss"].detach()
        if epoch >= args.swa_start:
            swa_model.update_parameters(model)
            swa_scheduler.step()
        else:
            scheduler.step()
        print(epoch, (total_loss / len(loader)).item(), optimizer.param_groups[0]["lr"])

    swa_model.eval()
    with torch.no_grad():
        x = tokens[: args.batch_size].to(device)
        print("averaged model:", swa_model(input_ids=x, labels=x).loss.item())


if __name__ == "__main__":
    main()
