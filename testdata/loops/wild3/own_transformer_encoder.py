"""nn.TransformerEncoder on token ids, positional encoding buffer, src mask, Adam, gradient clipping: the tutorial's model."""
import argparse
import math

import torch
from torch import nn, Tensor
from torch.nn import TransformerEncoder, TransformerEncoderLayer


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.pe[: x.size(0)]
        return self.dropout(x)


class TransformerModel(nn.Module):
    def __init__(self, ntoken, d_model, nhead, d_hid, nlayers, dropout=0.2):
        super().__init__()
        self.pos_encoder = PositionalEncoding(d_model, dropout)
        layers = TransformerEncoderLayer(d_model, nhead, d_hid, dropout)
        self.transformer_encoder = TransformerEncoder(layers, nlayers)
        self.encoder = nn.Embedding(ntoken, d_model)
        self.d_model = d_model
        self.decoder = nn.Linear(d_model, ntoken)

    def forward(self, src: Tensor, src_mask: Tensor) -> Tensor:
        src = self.encoder(src) * math.sqrt(self.d_model)
        src = self.pos_encoder(src)
        output = self.transformer_encoder(src, src_mask)
        return self.decoder(output)


def square_mask(size):
    return torch.triu(torch.ones(size, size) * float("-inf"), diagonal=1)


ap = argparse.ArgumentParser()
ap.add_argument("--batch-size", type=int, default=20)
ap.add_argument("--bptt", type=int, default=128)
ap.add_argument("--emsize", type=int, default=256)
ap.add_argument("--nlayers", type=int, default=4)
opt = ap.parse_args()

ntokens = 16000
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = TransformerModel(ntokens, opt.emsize, 4, 4 * opt.emsize, opt.nlayers).to(device)
data = torch.randint(0, ntokens, (opt.bptt * 5 + 1, opt.batch_size)).to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1.0, gamma=0.95)


def get_batch(source, i):
    seq_len = min(opt.bptt, len(source) - 1 - i)
    return source[i:i + seq_len], source[i + 1:i + 1 + seq_len].reshape(-1)


for epoch in range(1, 3):
    model.train()
    total_loss = 0.0
    src_mask = square_mask(opt.bptt).to(device)
    for batch, i in enumerate(range(0, data.size(0) - 1, opt.bptt)):
        inputs, targets = get_batch(data, i)
        output = model(inputs, src_mask)
        loss = criterion(output.view(-1, ntokens), targets)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        total_loss += loss.item()
    scheduler.step()
    print(epoch, total_loss)
