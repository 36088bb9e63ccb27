"""CycleGAN-like: two generators (instance norm, reflection pad), two discriminators, itertools.chain, image pool"""
import itertools, random
import torch, torch.nn as nn
class ResBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.block = nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(c, c, 3), nn.InstanceNorm2d(c), nn.ReLU(True), nn.ReflectionPad2d(1), nn.Conv2d(c, c, 3), nn.InstanceNorm2d(c))
    def forward(self, x): return x + self.block(x)
class Gen(nn.Module):
    def __init__(self, n=3):
        super().__init__()
        m = [nn.ReflectionPad2d(3), nn.Conv2d(3, 32, 7), nn.InstanceNorm2d(32), nn.ReLU(True)]
        c = 32
        for _ in range(2):
            m += [nn.Conv2d(c, 2 * c, 3, stride=2, padding=1), nn.InstanceNorm2d(2 * c), nn.ReLU(True)]; c *= 2
        m += [ResBlock(c) for _ in range(n)]
        for _ in range(2):
            m += [nn.ConvTranspose2d(c, c // 2, 3, stride=2, padding=1, output_padding=1), nn.InstanceNorm2d(c // 2), nn.ReLU(True)]; c //= 2
        m += [nn.ReflectionPad2d(3), nn.Conv2d(32, 3, 7), nn.Tanh()]
        self.model = nn.Sequential(*m)
    def forward(self, x): return self.model(x)
class Disc(nn.Module):
    def __init__(self):
        super().__init__()
        def b(i, o, norm=True):
            layers = [nn.Conv2d(i, o, 4, stride=2, padding=1)]
            if norm: layers.append(nn.InstanceNorm2d(o))
            layers.append(nn.LeakyReLU(0.2, inplace=True))
            return layers
        self.model = nn.Sequential(*b(3, 64, False), *b(64, 128), *b(128, 256), nn.ZeroPad2d((1, 0, 1, 0)), nn.Conv2d(256, 1, 4, padding=1))
    def forward(self, x): return self.model(x)
class Pool:
    def __init__(self, n=50): self.n, self.data = n, []
    def push(self, imgs):
        out = []
        for e in imgs.data:
            e = torch.unsqueeze(e, 0)
            if len(self.data) < self.n: self.data.append(e); out.append(e)
            else: out.append(e)
        return torch.cat(out)
G1, G2, D1, D2 = Gen().cuda(), Gen().cuda(), Disc().cuda(), Disc().cuda()
gan, cyc, idt = nn.MSELoss(), nn.L1Loss(), nn.L1Loss()
og = torch.optim.Adam(itertools.chain(G1.parameters(), G2.parameters()), lr=2e-4, betas=(0.5, 0.999))
od = torch.optim.Adam(itertools.chain(D1.parameters(), D2.parameters()), lr=2e-4)
for it in range(4):
    A, B = torch.rand(2, 3, 128, 128).cuda(), torch.rand(2, 3, 128, 128).cuda()
    og.zero_grad()
    loss_id = (idt(G2(A), A) + idt(G1(B), B)) / 2
    fb, fa = G1(A), G2(B)
    pb, pa = D2(fb), D1(fa)
    loss_gan = (gan(pb, torch.ones_like(pb)) + gan(pa, torch.ones_like(pa))) / 2
    loss_cyc = (cyc(G2(fb), A) + cyc(G1(fa), B)) / 2
    loss_G = loss_gan + 10.0 * loss_cyc + 5.0 * loss_id
    loss_G.backward()
    og.step()
    od.zero_grad()
    ra, rb = D1(A), D2(B)
    la = gan(ra, torch.ones_like(ra)) + gan(D1(fa.detach()), torch.zeros_like(ra))
    lb = gan(rb, torch.ones_like(rb)) + gan(D2(fb.detach()), torch.zeros_like(rb))
    (0.5 * (la + lb)).backward()
    od.step()
    print(it, loss_G.item(), la.item() + lb.item())
