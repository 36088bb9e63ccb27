import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F
from torchvision import models


class EmbeddingNet(nn.Module):
    def __init__(self, dim=128):
        super().__init__()
        backbone = models.resnet18(weights=None)
        backbone.fc = nn.Identity()
        self.backbone = backbone
        self.head = nn.Sequential(nn.Linear(512, 256), nn.PReLU(), nn.Linear(256, dim))

    def forward(self, x):
        return F.normalize(self.head(self.backbone(x)), p=2, dim=1)

    def get_embedding(self, x):
        return self.forward(x)


class TripletNet(nn.Module):
    def __init__(self, embedding_net):
        super().__init__()
        self.embedding_net = embedding_net

    def forward(self, x1, x2, x3):
        output1 = self.embedding_net(x1)
        output2 = self.embedding_net(x2)
        output3 = self.embedding_net(x3)
        return output1, output2, output3


class TripletLoss(nn.Module):
    def __init__(self, margin):
        super().__init__()
        self.margin = margin

    def forward(self, anchor, positive, negative, size_average=True):
        distance_positive = (anchor - positive).pow(2).sum(1)
        distance_negative = (anchor - negative).pow(2).sum(1)
        losses = F.relu(distance_positive - distance_negative + self.margin)
        return losses.mean() if size_average else losses.sum()


p = argparse.ArgumentParser()
p.add_argument("-b", "--batch_size", default=16, type=int)
p.add_argument("--img", default=96, type=int)
opt = p.parse_args()
model = TripletNet(EmbeddingNet())
if torch.cuda.is_available():
    model.cuda()
loss_fn = TripletLoss(1.)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [8, 12], gamma=0.1)
for epoch in range(2):
    for i in range(3):
        a, pos, n = (torch.randn(opt.batch_size, 3, opt.img, opt.img).cuda() for _ in range(3))
        optimizer.zero_grad()
        outputs = model(a, pos, n)
        if type(outputs) not in (tuple, list):
            outputs = (outputs,)
        loss = loss_fn(*outputs)
        loss.backward()
        optimizer.step()
    scheduler.step()
