# word language model, truncated backprop through time
import argparse
import torch
import torch.nn as nn

parser = argparse.ArgumentParser(description='LSTM language model on fake text')
parser.add_argument('--emsize', type=int, default=650)
parser.add_argument('--nhid', type=int, default=1150)
parser.add_argument('--nlayers', type=int, default=3)
parser.add_argument('--ntoken', type=int, default=33278)
parser.add_argument('--batch_size', type=int, default=40)
parser.add_argument('--bptt', type=int, default=70)
parser.add_argument('--clip', type=float, default=0.25)
parser.add_argument('--dropout', type=float, default=0.4)
args = parser.parse_args()
device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')


class RNNModel(nn.Module):
    def __init__(self, ntoken, ninp, nhid, nlayers, dropout):
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid, nlayers, dropout=dropout)
        self.decoder = nn.Linear(nhid, ntoken)
        self.nhid, self.nlayers = nhid, nlayers

    def forward(self, x, hidden):
        emb = self.drop(self.encoder(x))
        out, hidden = self.rnn(emb, hidden)
        return self.decoder(self.drop(out)), hidden

    def init_hidden(self, bsz):
        w = next(self.parameters())
        return w.new_zeros(self.nlayers, bsz, self.nhid), w.new_zeros(self.nlayers, bsz, self.nhid)


def repackage(h):
    return h.detach() if torch.is_tensor(h) else tuple(repackage(v) for v in h)


def get_batch(source, i):
    seq = min(args.bptt, len(source) - 1 - i)
    return source[i:i + seq], source[i + 1:i + 1 + seq].reshape(-1)


model = RNNModel(args.ntoken, args.emsize, args.nhid, args.nlayers, args.dropout).to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.ASGD(model.parameters(), lr=1.0, weight_decay=1.2e-6)
corpus = torch.randint(args.ntoken, (8 * args.bptt + 1, args.batch_size), device=device)

model.train()
hidden = model.init_hidden(args.batch_size)
total = 0
for n, i in enumerate(range(0, corpus.size(0) - 1, args.bptt)):
    x, y = get_batch(corpus, i)
    hidden = repackage(hidden)
    optimizer.zero_grad()
    output, hidden = model(x, hidden)
    loss = criterion(output.view(-1, args.ntoken), y)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
    optimizer.step()
    total += loss.data
    print('| batch %d | loss %.3f' % (n, total.item() / (n + 1)))
