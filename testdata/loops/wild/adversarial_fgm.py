import argparse
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
from transformers import AutoConfig, AutoModelForSequenceClassification


class FGM():
    def __init__(self, model):
        self.model = model
        self.backup = {}

    def attack(self, epsilon=1., emb_name='word_embeddings'):
        for name, param in self.model.named_parameters():
            if param.requires_grad and emb_name in name:
                self.backup[name] = param.data.clone()
                norm = torch.norm(param.grad)
                if norm != 0 and not torch.isnan(norm):
                    r_at = epsilon * param.grad / norm
                    param.data.add_(r_at)

    def restore(self, emb_name='word_embeddings'):
        for name, param in self.model.named_parameters():
            if param.requires_grad and emb_name in name:
                assert name in self.backup
                param.data = self.backup[name]
        self.backup = {}


parser = argparse.ArgumentParser()
parser.add_argument('--config', type=str)
parser.add_argument('--batch-size', type=int, default=16)
parser.add_argument('--seq-len', type=int, default=256)
parser.add_argument('--epoch', type=int, default=2)
args = parser.parse_args()

device = torch.device('cuda')
config = AutoConfig.from_pretrained(args.config, num_labels=2)
model = AutoModelForSequenceClassification.from_config(config).to(device)
fgm = FGM(model)
n = args.batch_size * 4
train_data = TensorDataset(torch.randint(10, config.vocab_size, (n, args.seq_len)), torch.ones(n, args.seq_len, dtype=torch.long), torch.randint(0, 2, (n,)))
train_loader = DataLoader(train_data, batch_size=args.batch_size, shuffle=True)

no_decay = ['bias', 'LayerNorm.bias', 'LayerNorm.weight']
params = list(model.named_parameters())
optimizer = torch.optim.AdamW([
    {'params': [p for n, p in params if not any(nd in n for nd in no_decay)], 'weight_decay': 0.01},
    {'params': [p for n, p in params if any(nd in n for nd in no_decay)], 'weight_decay': 0.0},
], lr=2e-5)
criterion = nn.CrossEntropyLoss()

for epoch in range(args.epoch):
    model.train()
    train_loss = []
    for token_ids, masks, labels in train_loader:
        token_ids, masks, labels = token_ids.to(device), masks.to(device), labels.to(device)
        logits = model(token_ids, attention_mask=masks).logits
        loss = criterion(logits, labels)
        loss.backward()
        # adversarial pass: gradients add up on those of the clean pass
        fgm.attack()
        logits_adv = model(token_ids, attention_mask=masks).logits
        loss_adv = criterion(logits_adv, labels)
        loss_adv.backward()
        fgm.restore()
        optimizer.step()
        model.zero_grad()
        train_loss.append(loss.item())
    print('epoch:{} loss:{:.4f}'.format(epoch, sum(train_loss) / len(train_loss)))
