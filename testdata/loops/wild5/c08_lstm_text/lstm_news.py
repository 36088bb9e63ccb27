import torch
import torch.nn as nn
import torch.optim as optim
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.utils.data import DataLoader

VOCAB_SIZE = 40000
EMBED_DIM = 300
HIDDEN = 512
N_LAYERS = 2
MAX_LEN = 400
BATCH = 256
N_CLASS = 4
EPOCHS = 2
PAD = 0

torch.manual_seed(0)
device = torch.device("cuda")


class NewsDataset(torch.utils.data.Dataset):
    def __init__(self, n):
        self.labels = torch.randint(0, N_CLASS, (n,))
        self.texts = torch.randint(2, VOCAB_SIZE, (n, MAX_LEN))

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.texts[i], MAX_LEN, self.labels[i]


def collate(batch):
    texts, lens, labels = zip(*batch)
    return torch.stack(texts), torch.tensor(lens), torch.stack(labels)


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.proj = nn.Linear(dim, dim)
        self.v = nn.Linear(dim, 1, bias=False)

    def forward(self, h, mask):
        scores = self.v(torch.tanh(self.proj(h))).squeeze(-1)
        scores = scores.masked_fill(mask == 0, -1e9)
        w = torch.softmax(scores, dim=1)
        return torch.bmm(w.unsqueeze(1), h).squeeze(1), w


class BiLSTMAttn(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB_SIZE, EMBED_DIM, padding_idx=PAD)
        self.lstm = nn.LSTM(EMBED_DIM, HIDDEN, num_layers=N_LAYERS, batch_first=True, bidirectional=True, dropout=0.3)
        self.attn = Attention(2 * HIDDEN)
        self.dropout = nn.Dropout(0.5)
        self.fc = nn.Linear(2 * HIDDEN, N_CLASS)

    def forward(self, text, lengths):
        emb = self.dropout(self.embedding(text))
        packed = pack_padded_sequence(emb, lengths, batch_first=True, enforce_sorted=False)
        out, (h, c) = self.lstm(packed)
        out, _ = pad_packed_sequence(out, batch_first=True)
        ctx, _ = self.attn(out, text != PAD)
        return self.fc(self.dropout(ctx))


train_loader = DataLoader(NewsDataset(BATCH * 6), batch_size=BATCH, shuffle=True, collate_fn=collate)
valid_loader = DataLoader(NewsDataset(BATCH * 2), batch_size=BATCH, collate_fn=collate)

model = BiLSTMAttn().to(device)
optimizer = optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss().to(device)


def binary_acc(preds, y):
    return (preds.argmax(1) == y).float().mean()


def train(model, iterator):
    epoch_loss, epoch_acc = 0, 0
    model.train()
    for text, lens, y in iterator:
        text, y = text.to(device), y.to(device)
        optimizer.zero_grad()
        predictions = model(text, lens)
        loss = criterion(predictions, y)
        acc = binary_acc(predictions, y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5)
        optimizer.step()
        epoch_loss += loss.item()
        epoch_acc += acc.item()
    return epoch_loss / len(iterator), epoch_acc / len(iterator)


def evaluate(model, iterator):
    epoch_loss, epoch_acc = 0, 0
    model.eval()
    with torch.no_grad():
        for text, lens, y in iterator:
            text, y = text.to(device), y.to(device)
            predictions = model(text, lens)
            epoch_loss += criterion(predictions, y).item()
            epoch_acc += binary_acc(predictions, y).item()
    return epoch_loss / len(iterator), epoch_acc / len(iterator)


best = float("inf")
for epoch in range(EPOCHS):
    tl, ta = train(model, train_loader)
    vl, va = evaluate(model, valid_loader)
    if vl < best:
        best = vl
        torch.save(model.state_dict(), "/tmp/bilstm_attn_best.pt")
    print(f"Epoch: {epoch + 1:02} | Train Loss: {tl:.3f} Acc: {ta * 100:.2f}% | Val Loss: {vl:.3f} Acc: {va * 100:.2f}%")
