import argparse
import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader
from transformers import AutoConfig, AutoModel

# global settings, filled in below
MODEL = None
OPTIMIZER = None
ARGS = None
DEVICE = torch.device('cuda')
NUM_CLASSES = 7
best_acc = 0.0


class NewsDataset(Dataset):
    def __init__(self, data):
        self.data = data

    def __getitem__(self, index):
        text, label = self.data[index]
        return text, label

    def __len__(self):
        return len(self.data)


def collate_batch(batch):
    texts = torch.stack([b[0] for b in batch])
    labels = torch.LongTensor([b[1] for b in batch])
    return texts.to(DEVICE), labels.to(DEVICE)


class Net(nn.Module):
    def __init__(self, path):
        super().__init__()
        cfg = AutoConfig.from_pretrained(path)
        self.bert = AutoModel.from_config(cfg)
        self.lstm = nn.LSTM(cfg.hidden_size, 256, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(512, NUM_CLASSES)

    def forward(self, x):
        h = self.bert(x)[0]
        h, _ = self.lstm(h)
        return self.fc(h[:, -1])


def setup():
    global MODEL, OPTIMIZER
    MODEL = Net(ARGS.config).to(DEVICE)
    base = [p for n, p in MODEL.named_parameters() if n.startswith('bert')]
    rest = [p for n, p in MODEL.named_parameters() if not n.startswith('bert')]
    OPTIMIZER = torch.optim.Adam([{'params': base, 'lr': 2e-5}, {'params': rest, 'lr': 1e-3}])


def run_epoch(loader):
    MODEL.train()
    for x, y in loader:
        pred = MODEL(x)
        loss = nn.functional.cross_entropy(pred, y)
        OPTIMIZER.zero_grad()
        loss.backward()
        OPTIMIZER.step()
    return loss


def test(loader):
    global best_acc
    MODEL.eval()
    right = total = 0
    with torch.no_grad():
        for x, y in loader:
            right += (MODEL(x).argmax(1) == y).sum().item()
            total += len(y)
    best_acc = max(best_acc, right / total)
    return right / total


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--config', type=str)
    parser.add_argument('--batch-size', type=int, default=32)
    parser.add_argument('--seq-len', type=int, default=128)
    ARGS = parser.parse_args()
    setup()
    vocab = MODEL.bert.config.vocab_size
    samples = [(torch.randint(vocab, (ARGS.seq_len,)), i % NUM_CLASSES) for i in range(5 * ARGS.batch_size)]
    train_iter = DataLoader(NewsDataset(samples[: 4 * ARGS.batch_size]), ARGS.batch_size, shuffle=True, collate_fn=collate_batch)
    test_iter = DataLoader(NewsDataset(samples[4 * ARGS.batch_size:]), ARGS.batch_size, collate_fn=collate_batch)
    for epoch in range(2):
        last = run_epoch(train_iter)
        print('epoch', epoch, 'loss', last.item(), 'acc', test(test_iter), 'best', best_acc)
