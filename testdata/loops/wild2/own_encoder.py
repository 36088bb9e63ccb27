import argparse
import json
import math
import os

import torch
import torch.nn as nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        pe = torch.zeros(max_len, d_model)
        position = torch.arange(0, max_len, dtype=torch.float).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x):
        return self.dropout(x + self.pe[:, : x.size(1)])


class TransformerModel(nn.Module):
    def __init__(self, vocab, d_model, nhead, d_ff, nlayers, dropout=0.1):
        super().__init__()
        self.embed = nn.Embedding(vocab, d_model)
        self.pos = PositionalEncoding(d_model, dropout)
        layer = nn.TransformerEncoderLayer(d_model, nhead, d_ff, dropout, batch_first=True, norm_first=True, activation="gelu")
        self.encoder = nn.TransformerEncoder(layer, nlayers, enable_nested_tensor=False)
        self.decoder = nn.Linear(d_model, vocab)
        self.d_model = d_model
        self.init_weights()

    def init_weights(self):
        nn.init.uniform_(self.embed.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)
        nn.init.uniform_(self.decoder.weight, -0.1, 0.1)

    def forward(self, src, src_mask):
        h = self.pos(self.embed(src) * math.sqrt(self.d_model))
        return self.decoder(self.encoder(h, mask=src_mask))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config", help="folder with a config.json, for the sizes only")
    ap.add_argument("--batch-size", type=int, default=8)
    ap.add_argument("--seq-len", type=int, default=128)
    ap.add_argument("--steps", type=int, default=6)
    args = ap.parse_args()
    with open(os.path.join(args.config, "config.json")) as f:
        c = json.load(f)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = TransformerModel(c["vocab_size"], c["hidden_size"], c["num_attention_heads"], c["intermediate_size"], c["num_hidden_layers"]).to(device)
    mask = nn.Transformer.generate_square_subsequent_mask(args.seq_len).to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=5.0)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1.0, gamma=0.95)
    model.train()
    total_loss = 0.
    for i in range(args.steps):
        data = torch.randint(c["vocab_size"], (args.batch_size, args.seq_len + 1)).to(device)
        output = model(data[:, :-1], mask)
        loss = criterion(output.view(-1, c["vocab_size"]), data[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        total_loss += loss.item()
    scheduler.step()
    print("ppl", math.exp(min(20, total_loss / args.steps)))


if __name__ == "__main__":
    main()
