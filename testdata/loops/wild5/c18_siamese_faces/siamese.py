import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from torchvision.models import resnet18


class Config:
    train_batch_size = 96
    test_batch_size = 32
    train_number_epochs = 1
    image_size = 160
    margin = 1.0
    embedding = 128


class SiamesePairs(Dataset):
    def __init__(self, n_pairs, n_ids=40):
        self.n_pairs = n_pairs
        self.proto = torch.rand(n_ids, 1, Config.image_size, Config.image_size)

    def __getitem__(self, index):
        same = index % 2
        a = torch.randint(0, len(self.proto), (1,)).item()
        b = a if same else (a + 1) % len(self.proto)
        noise = lambda: torch.randn(1, Config.image_size, Config.image_size) * 0.05
        return self.proto[a] + noise(), self.proto[b] + noise(), torch.tensor([1.0 - same])

    def __len__(self):
        return self.n_pairs


class SiameseNetwork(nn.Module):
    def __init__(self):
        super(SiameseNetwork, self).__init__()
        self.cnn1 = resnet18(weights=None)
        self.cnn1.conv1 = nn.Conv2d(1, 64, kernel_size=7, stride=2, padding=3, bias=False)
        self.cnn1.fc = nn.Identity()
        self.fc1 = nn.Sequential(
            nn.Linear(512, 500),
            nn.ReLU(inplace=True),
            nn.Linear(500, 500),
            nn.ReLU(inplace=True),
            nn.Linear(500, Config.embedding))

    def forward_once(self, x):
        output = self.cnn1(x)
        output = output.view(output.size()[0], -1)
        output = self.fc1(output)
        return output

    def forward(self, input1, input2):
        return self.forward_once(input1), self.forward_once(input2)


class ContrastiveLoss(torch.nn.Module):
    def __init__(self, margin=2.0):
        super(ContrastiveLoss, self).__init__()
        self.margin = margin

    def forward(self, output1, output2, label):
        euclidean_distance = F.pairwise_distance(output1, output2, keepdim=True)
        return torch.mean((1 - label) * torch.pow(euclidean_distance, 2) +
                          label * torch.pow(torch.clamp(self.margin - euclidean_distance, min=0.0), 2))


train_dataloader = DataLoader(SiamesePairs(96 * 10), shuffle=True, num_workers=2, batch_size=Config.train_batch_size)
test_dataloader = DataLoader(SiamesePairs(64), batch_size=Config.test_batch_size)

net = SiameseNetwork().cuda()
criterion = ContrastiveLoss(Config.margin)
optimizer = torch.optim.Adam(net.parameters(), lr=0.0005)

counter = []
loss_history = []
for epoch in range(0, Config.train_number_epochs):
    for i, data in enumerate(train_dataloader, 0):
        img0, img1, label = data
        img0, img1, label = img0.cuda(), img1.cuda(), label.cuda()
        optimizer.zero_grad()
        output1, output2 = net(img0, img1)
        loss_contrastive = criterion(output1, output2, label)
        loss_contrastive.backward()
        optimizer.step()
        if i % 2 == 0:
            print("Epoch number {}\n Current loss {}\n".format(epoch, loss_contrastive.item()))
            counter.append(i)
            loss_history.append(loss_contrastive.item())

net.eval()
dists, labels = [], []
with torch.no_grad():
    for img0, img1, label in test_dataloader:
        o1, o2 = net(img0.cuda(), img1.cuda())
        dists.append(F.pairwise_distance(o1, o2).cpu())
        labels.append(label.squeeze(1))
dists, labels = torch.cat(dists), torch.cat(labels)
for th in (0.25, 0.5, 0.75, 1.0):
    print(th, ((dists > th).float() == labels).float().mean().item())
torch.save({"model": net.state_dict()}, "/tmp/siamese_last.pt")
