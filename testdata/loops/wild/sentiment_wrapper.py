import argparse, time
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import TensorDataset, DataLoader, RandomSampler, SequentialSampler
from transformers import AutoConfig, AutoModel


class SentimentClassifier(nn.Module):

    def __init__(self, config, n_classes):
        super(SentimentClassifier, self).__init__()
        self.bert = AutoModel.from_config(config)
        self.drop = nn.Dropout(p=0.3)
        self.out = nn.Linear(config.hidden_size, n_classes)

    def forward(self, input_ids, attention_mask):
        output = self.bert(input_ids=input_ids, attention_mask=attention_mask)
        pooled_output = output[0][:, 0]
        output = self.drop(pooled_output)
        return self.out(output)


def flat_accuracy(preds, labels):
    pred_flat = np.argmax(preds, axis=1).flatten()
    labels_flat = labels.flatten()
    return np.sum(pred_flat == labels_flat) / len(labels_flat)


parser = argparse.ArgumentParser()
parser.add_argument('--config')
parser.add_argument('--batch-size', type=int, default=32)
parser.add_argument('--seq-len', type=int, default=128)
parser.add_argument('--epochs', type=int, default=2)
args = parser.parse_args()

device = torch.device("cuda")
config = AutoConfig.from_pretrained(args.config)

def make_dataset(n):
    input_ids = torch.randint(5, config.vocab_size, (n, args.seq_len))
    attention_masks = torch.ones_like(input_ids)
    labels = torch.randint(0, 3, (n,))
    return TensorDataset(input_ids, attention_masks, labels)

train_dataset = make_dataset(args.batch_size * 4)
val_dataset = make_dataset(args.batch_size * 2)
train_dataloader = DataLoader(train_dataset, sampler=RandomSampler(train_dataset), batch_size=args.batch_size)
validation_dataloader = DataLoader(val_dataset, sampler=SequentialSampler(val_dataset), batch_size=args.batch_size)

model = SentimentClassifier(config, 3)
model = model.to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5, eps=1e-8)
loss_fn = nn.CrossEntropyLoss().to(device)

training_stats = []
total_t0 = time.time()
for epoch_i in range(0, args.epochs):
    print('======== Epoch {:} / {:} ========'.format(epoch_i + 1, args.epochs))
    total_train_loss = 0
    model.train()
    for step, batch in enumerate(train_dataloader):
        b_input_ids = batch[0].to(device)
        b_input_mask = batch[1].to(device)
        b_labels = batch[2].to(device)
        model.zero_grad()
        logits = model(b_input_ids, b_input_mask)
        loss = loss_fn(logits, b_labels)
        total_train_loss += loss.item()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    avg_train_loss = total_train_loss / len(train_dataloader)

    model.eval()
    total_eval_accuracy = 0
    total_eval_loss = 0
    for batch in validation_dataloader:
        b_input_ids = batch[0].to(device)
        b_input_mask = batch[1].to(device)
        b_labels = batch[2].to(device)
        with torch.no_grad():
            logits = model(b_input_ids, b_input_mask)
            loss = loss_fn(logits, b_labels)
        total_eval_loss += loss.item()
        logits = logits.detach().cpu().numpy()
        label_ids = b_labels.to('cpu').numpy()
        total_eval_accuracy += flat_accuracy(logits, label_ids)
    training_stats.append({
        'epoch': epoch_i + 1,
        'Training Loss': avg_train_loss,
        'Valid. Loss': total_eval_loss / len(validation_dataloader),
        'Valid. Accur.': total_eval_accuracy / len(validation_dataloader),
    })
print(training_stats)
print("Total training took {:.1f}s".format(time.time() - total_t0))
