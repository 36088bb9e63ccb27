# NER-ish token tagging with fp16 mixed precision (torch.cuda.amp)
import argparse

import torch
import torch.nn as nn
from torch.cuda.amp import GradScaler, autocast
from transformers import AutoConfig, AutoModel


class Tagger(nn.Module):
    def __init__(self, config, n_tags, p=0.3):
        super(Tagger, self).__init__()
        self.encoder = AutoModel.from_config(config)
        self.drop = nn.Dropout(p)
        self.out = nn.Linear(config.hidden_size, n_tags)

    def forward(self, ids, mask):
        h = self.encoder(ids, attention_mask=mask).last_hidden_state
        return self.out(self.drop(h))


def loss_fn(logits, target, mask, n_tags):
    criterion = nn.CrossEntropyLoss()
    active = mask.view(-1) == 1
    active_logits = logits.view(-1, n_tags)
    active_labels = torch.where(active, target.view(-1), torch.tensor(criterion.ignore_index).type_as(target))
    return criterion(active_logits, active_labels)


def train_fn(batches, model, optimizer, scaler, device, scheduler, n_tags, accumulation):
    model.train()
    final_loss = 0
    optimizer.zero_grad()
    for bi, data in enumerate(batches):
        for k in data:
            data[k] = data[k].to(device)
        with autocast(enabled=device.type == 'cuda'):
            logits = model(data['ids'], data['mask'])
            loss = loss_fn(logits, data['tags'], data['mask'], n_tags) / accumulation
        scaler.scale(loss).backward()
        if (bi + 1) % accumulation == 0 or bi + 1 == len(batches):
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 10)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            scheduler.step()
        final_loss += loss.item()
    return final_loss / len(batches)


def run():
    parser = argparse.ArgumentParser()
    parser.add_argument('--config')
    parser.add_argument('--batch-size', type=int, default=16)
    parser.add_argument('--seq-len', type=int, default=128)
    parser.add_argument('--tags', type=int, default=17)
    parser.add_argument('--accumulation', type=int, default=2)
    args = parser.parse_args()
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    config = AutoConfig.from_pretrained(args.config)
    model = Tagger(config, args.tags).to(device)
    no_decay = ['bias', 'LayerNorm.bias', 'LayerNorm.weight']
    named = list(model.named_parameters())
    groups = [
        {'params': [p for n, p in named if not any(nd in n for nd in no_decay)], 'weight_decay': 0.001},
        {'params': [p for n, p in named if any(nd in n for nd in no_decay)], 'weight_decay': 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=3e-5)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: 0.95 ** s)
    scaler = GradScaler(enabled=torch.cuda.is_available())
    shape = (args.batch_size, args.seq_len)
    for epoch in range(2):
        batches = [{'ids': torch.randint(3, config.vocab_size, shape), 'mask': torch.ones(shape, dtype=torch.long),
                    'tags': torch.randint(args.tags, shape)} for _ in range(5)]
        print('Train loss', train_fn(batches, model, optimizer, scaler, device, scheduler, args.tags, args.accumulation))


run()
