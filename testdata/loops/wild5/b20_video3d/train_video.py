import torch
import torch.nn as nn
import torch.nn.functional as F

# ---- settings ----
FRAMES, SIZE, CLASSES = 16, 112, 101
BATCH, ACCUM = 24, 2
STEPS = 6
LR = 3e-3
FREEZE_STEM = True


class Conv2Plus1D(nn.Sequential):
    def __init__(self, i, o, stride=1):
        mid = (i * o * 27) // (i * 9 + 3 * o)
        super().__init__(
            nn.Conv3d(i, mid, (1, 3, 3), (1, stride, stride), (0, 1, 1), bias=False),
            nn.BatchNorm3d(mid),
            nn.ReLU(inplace=True),
            nn.Conv3d(mid, o, (3, 1, 1), (stride, 1, 1), (1, 0, 0), bias=False))


class SE3d(nn.Module):
    def __init__(self, c, r=16):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(c, c // r), nn.ReLU(), nn.Linear(c // r, c), nn.Sigmoid())

    def forward(self, x):
        return x * self.fc(x.mean((2, 3, 4)))[:, :, None, None, None]


class Block(nn.Module):
    def __init__(self, i, o, stride=1):
        super().__init__()
        self.a = nn.Sequential(Conv2Plus1D(i, o, stride), nn.BatchNorm3d(o), nn.ReLU(inplace=True))
        self.b = nn.Sequential(Conv2Plus1D(o, o), nn.BatchNorm3d(o))
        self.se = SE3d(o)
        self.down = None
        if stride != 1 or i != o:
            self.down = nn.Sequential(nn.Conv3d(i, o, 1, stride, bias=False), nn.BatchNorm3d(o))

    def forward(self, x):
        idt = x if self.down is None else self.down(x)
        return F.relu(self.se(self.b(self.a(x))) + idt, inplace=True)


class VideoNet(nn.Module):
    def __init__(self, layers=(2, 2, 2, 2)):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv3d(3, 45, (1, 7, 7), (1, 2, 2), (0, 3, 3), bias=False), nn.BatchNorm3d(45), nn.ReLU(inplace=True),
            nn.Conv3d(45, 64, (3, 1, 1), 1, (1, 0, 0), bias=False), nn.BatchNorm3d(64), nn.ReLU(inplace=True))
        chans, cur, stages = (64, 128, 256, 512), 64, []
        for k, (c, n) in enumerate(zip(chans, layers)):
            blocks = []
            for j in range(n):
                blocks.append(Block(cur, c, 2 if (j == 0 and k > 0) else 1))
                cur = c
            stages.append(nn.Sequential(*blocks))
        self.stages = nn.ModuleList(stages)
        self.temporal = nn.GRU(512, 256, batch_first=True, bidirectional=True)
        self.cls = nn.Linear(512, CLASSES)
        self.proj = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 128))

    def forward(self, x):
        x = self.stem(x)
        for s in self.stages:
            x = s(x)
        seq = x.mean((3, 4)).transpose(1, 2)
        out, _ = self.temporal(seq)
        z = out.mean(1)
        return self.cls(z), F.normalize(self.proj(z), dim=-1)


def focal(logits, y, gamma=2.0):
    ce = F.cross_entropy(logits, y, reduction="none")
    return ((1 - torch.exp(-ce)) ** gamma * ce).mean()


def supcon(z, y, t=0.1):
    sim = z @ z.t() / t
    eye = torch.eye(len(z), dtype=torch.bool, device=z.device)
    pos = (y[:, None] == y[None]) & ~eye
    logp = sim - torch.logsumexp(sim.masked_fill(eye, -1e9), 1, keepdim=True)
    cnt = pos.sum(1)
    return -((logp * pos).sum(1) / cnt.clamp(min=1)).mean()


def clip_batch(n):
    v = torch.randint(0, 256, (n, 3, FRAMES, SIZE, SIZE), dtype=torch.uint8)
    y = torch.randint(0, CLASSES // 10, (n,))
    return v.pin_memory().cuda(non_blocking=True), y.cuda(non_blocking=True)


def main():
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    net = VideoNet().cuda()
    acts = {}
    hooks = [s.register_forward_hook(lambda m, i, o, k=k: acts.__setitem__(k, o.detach().float().std().item()))
             for k, s in enumerate(net.stages)]
    if FREEZE_STEM:
        for p in net.stem.parameters():
            p.requires_grad_(False)
    opt = torch.optim.SGD([
        {"params": [p for p in net.stages.parameters()], "lr": LR},
        {"params": [*net.temporal.parameters(), *net.cls.parameters(), *net.proj.parameters()], "lr": LR * 10},
    ], momentum=0.9, nesterov=True, weight_decay=5e-4)
    losses = []
    for step in range(STEPS):
        opt.zero_grad()
        for _ in range(ACCUM):
            v, y = clip_batch(BATCH)
            v = v.float().div_(127.5).sub_(1)
            logits, z = net(v)
            loss = focal(logits, y) + 0.2 * supcon(z, y)
            (loss / ACCUM).backward()
            losses.append(loss.item())
        opt.step()
        print("step", step, "loss", round(losses[-1], 4), "act", {k: round(s, 3) for k, s in acts.items()})
    for h in hooks:
        h.remove()
    net.eval()
    with torch.no_grad():
        v, y = clip_batch(BATCH // 2)
        views = torch.stack([v, v.flip(-1)], 1).flatten(0, 1).float().div(127.5).sub(1)
        prob = net(views)[0].softmax(-1).view(-1, 2, CLASSES).mean(1)
        print("top1", (prob.argmax(-1) == y).float().mean().item())


if __name__ == "__main__":
    main()
