"""raw audio classification, 1d convolutions with batch norm, pools and SELU/GLU, RAdam"""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
class Audio(Dataset):
    def __init__(self, n=200, length=16000): self.n, self.length = n, length
    def __len__(self): return self.n
    def __getitem__(self, i):
        return torch.randn(1, self.length), torch.tensor(i % 35)
class M5(nn.Module):
    def __init__(self, n_input=1, n_output=35, stride=16, n_channel=64):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(n_input, n_channel, kernel_size=80, stride=stride), nn.BatchNorm1d(n_channel), nn.ReLU(), nn.MaxPool1d(4),
            nn.Conv1d(n_channel, n_channel, kernel_size=3), nn.BatchNorm1d(n_channel), nn.SELU(), nn.MaxPool1d(4),
            nn.Conv1d(n_channel, 4 * n_channel, kernel_size=3, dilation=2, padding=2), nn.GLU(dim=1), nn.AvgPool1d(2))
        self.fc = nn.Linear(2 * n_channel, n_output)
    def forward(self, x):
        x = self.features(x)
        x = nn.functional.adaptive_avg_pool1d(x, 1).squeeze(-1)
        return torch.log_softmax(self.fc(x), dim=-1)
model = M5().to("cuda")
opt = torch.optim.RAdam(model.parameters(), lr=0.01, weight_decay=0.0001)
sched = torch.optim.lr_scheduler.StepLR(opt, step_size=20, gamma=0.1)
for epoch in range(2):
    for data, target in DataLoader(Audio(), batch_size=64, shuffle=True):
        data, target = data.to("cuda"), target.to("cuda")
        out = model(data)
        loss = nn.functional.nll_loss(out, target)
        opt.zero_grad()
        loss.backward()
        opt.step()
    sched.step()
