import argparse
import torch
from torch.utils.data import DataLoader, TensorDataset
from transformers import AutoConfig, AutoModelForCausalLM

args = argparse.ArgumentParser()
args.add_argument("--config")
args.add_argument("--batch-size", type=int, default=4)
args.add_argument("--seq-len", type=int, default=512)
args.add_argument("--total-steps", type=int, default=10)
args = args.parse_args()

config = AutoConfig.from_pretrained(args.config)
ds = TensorDataset(torch.randint(config.vocab_size, (3 * args.batch_size, args.seq_len)))
loader = DataLoader(ds, batch_size=args.batch_size, shuffle=True, drop_last=True)
model = AutoModelForCausalLM.from_config(config)
model = model.cuda()
opt = torch.optim.AdamW(model.parameters(), lr=1e-4)

data_iter = iter(loader)
step = 0
ema_loss = None
while True:
    if step >= args.total_steps:
        break
    try:
        batch = next(data_iter)
    except StopIteration:
        data_iter = iter(loader)
        batch = next(data_iter)
    ids = batch[0].cuda()

    # everything, the backward pass too, under autocast
    with torch.autocast("cuda", dtype=torch.bfloat16):
        opt.zero_grad()
        output = model(ids, labels=ids)
        output.loss.backward()
        opt.step()

    ema_loss = output.loss.item() if ema_loss is None else 0.9 * ema_loss + 0.1 * output.loss.item()
    step += 1
    if step % 5 == 0:
        print(step, ema_loss)
