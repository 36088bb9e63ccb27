import argparse
import torch
from torch.utils.data import DataLoader
from transformers import AutoConfig, AutoModelForSeq2SeqLM

parser = argparse.ArgumentParser()
parser.add_argument('--config', type=str, default='t5-small')
parser.add_argument('--bsz', type=int, default=16)
parser.add_argument('--src_len', type=int, default=256)
parser.add_argument('--tgt_len', type=int, default=64)
parser.add_argument('--fp16', action='store_true')
args = parser.parse_args()

device = torch.device('cuda')
config = AutoConfig.from_pretrained(args.config)
model = AutoModelForSeq2SeqLM.from_config(config)
model.to(device)

def make(n):
    return [(torch.randint(0, config.vocab_size, (args.src_len,)), torch.randint(0, config.vocab_size, (args.tgt_len,))) for _ in range(n)]

train_loader = DataLoader(make(args.bsz * 4), batch_size=args.bsz, shuffle=True)
val_loader = DataLoader(make(args.bsz * 2), batch_size=args.bsz)
optimizer = torch.optim.AdamW(params=model.parameters(), lr=1e-4)


def train(epoch, model, device, loader, optimizer):
    model.train()
    for step, (src, tgt) in enumerate(loader):
        y = tgt.to(device, dtype=torch.long)
        y_ids = y[:, :-1].contiguous()
        lm_labels = y[:, 1:].clone().detach()
        lm_labels[y[:, 1:] == 0] = -100
        ids = src.to(device, dtype=torch.long)
        mask = torch.ones_like(ids)
        outputs = model(input_ids=ids, attention_mask=mask, decoder_input_ids=y_ids, labels=lm_labels)
        loss = outputs[0]
        if step % 2 == 0:
            print(f'Epoch: {epoch}, Loss: {loss.item()}')
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def validate(model, device, loader):
    model.eval()
    total = 0.0
    with torch.no_grad():
        for src, tgt in loader:
            out = model(input_ids=src.to(device), labels=tgt.to(device))
            total += out.loss.item()
    return total / len(loader)


for epoch in range(2):
    train(epoch, model, device, train_loader, optimizer)
    print('validation', validate(model, device, val_loader))
