import argparse
import torch
import torch.utils.data
from torch import nn, optim
from torch.nn import functional as F

parser = argparse.ArgumentParser(description='VAE')
parser.add_argument('--batch-size', type=int, default=128, metavar='N')
parser.add_argument('--epochs', type=int, default=2)
parser.add_argument('--hidden', type=int, default=4096)
parser.add_argument('--latent', type=int, default=64)
args = parser.parse_args()
args.cuda = torch.cuda.is_available()
device = torch.device("cuda") if args.cuda else torch.device("cpu")
kwargs = {'num_workers': 0} if args.cuda else {}
D = 3 * 48 * 48
data = torch.rand(args.batch_size * 4 + 10, 3, 48, 48)
train_loader = torch.utils.data.DataLoader([(x, 0) for x in data], batch_size=args.batch_size, shuffle=True, **kwargs)
test_loader = torch.utils.data.DataLoader([(x, 0) for x in data[:2 * args.batch_size]], batch_size=args.batch_size, shuffle=False, **kwargs)


class VAE(nn.Module):
    def __init__(self):
        super(VAE, self).__init__()
        self.fc1 = nn.Linear(D, args.hidden)
        self.fc21 = nn.Linear(args.hidden, args.latent)
        self.fc22 = nn.Linear(args.hidden, args.latent)
        self.fc3 = nn.Linear(args.latent, args.hidden)
        self.fc4 = nn.Linear(args.hidden, D)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5*logvar)
        eps = torch.randn_like(std)
        return mu + eps*std

    def decode(self, z):
        h3 = F.relu(self.fc3(z))
        return torch.sigmoid(self.fc4(h3))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, D))
        z = self.reparameterize(mu, logvar)
        return self.decode(z), mu, logvar


model = VAE().to(device)
optimizer = optim.Adam(model.parameters(), lr=1e-3)


def loss_function(recon_x, x, mu, logvar):
    BCE = F.binary_cross_entropy(recon_x, x.view(-1, D), reduction='sum')
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + KLD


def train(epoch):
    model.train()
    train_loss = 0
    for batch_idx, (data, _) in enumerate(train_loader):
        data = data.to(device)
        optimizer.zero_grad()
        recon_batch, mu, logvar = model(data)
        loss = loss_function(recon_batch, data, mu, logvar)
        loss.backward()
        train_loss += loss.item()
        optimizer.step()
    print('====> Epoch: {} Average loss: {:.4f}'.format(epoch, train_loss / len(train_loader.dataset)))


def test(epoch):
    model.eval()
    test_loss = 0
    with torch.no_grad():
        for i, (data, _) in enumerate(test_loader):
            data = data.to(device)
            recon_batch, mu, logvar = model(data)
            test_loss += loss_function(recon_batch, data, mu, logvar).item()
            if i == 0:
                n = min(data.size(0), 8)
                comparison = torch.cat([data[:n], recon_batch.view(args.batch_size, 3, 48, 48)[:n]])
                comparison = comparison.cpu()


if __name__ == "__main__":
    for epoch in range(1, args.epochs + 1):
        train(epoch)
        test(epoch)
        with torch.no_grad():
            sample = torch.randn(64, args.latent).to(device)
            sample = model.decode(sample).cpu()
