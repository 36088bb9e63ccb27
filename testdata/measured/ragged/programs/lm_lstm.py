"""A language model with two LSTM layers, fixed shapes."""
import torch
from torch import nn
from common import *

V, H, T = 10000, 650, 35


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)
        self.encoder = nn.Embedding(V, H)
        kind = nn.GRU if args.variant == "gru" else nn.LSTM
        self.rnn = kind(H, H, 2, dropout=0.5)
        self.decoder = nn.Linear(H, V)

    def forward(self, x, hidden):
        y, hidden = self.rnn(self.drop(self.encoder(x)), hidden)
        return self.decoder(self.drop(y)).view(-1, V), hidden


model = LM().to(device)
opt = torch.optim.SGD(model.parameters(), lr=1.0)
B = args.batch_size
corpus = torch.randint(0, V, (T * (args.steps + 1) + 1, B)).to(device)
hidden = None
for step in range(args.steps):
    x, y = corpus[step * T:(step + 1) * T], corpus[step * T + 1:(step + 1) * T + 1].reshape(-1)
    model.zero_grad()
    if hidden is not None:
        hidden = tuple(h.detach() for h in hidden) if isinstance(hidden, tuple) else hidden.detach()
    with autocast():
        out, hidden = model(x, hidden)
        loss = nn.functional.cross_entropy(out, y)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
    opt.step()
end()
