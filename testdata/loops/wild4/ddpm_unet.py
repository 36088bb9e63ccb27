import argparse, math
import torch
import torch.nn as nn
import torch.nn.functional as F
from copy import deepcopy


def exists(x):
    return x is not None


class SinusoidalPosEmb(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        half = self.dim // 2
        emb = math.log(10000) / (half - 1)
        emb = torch.exp(torch.arange(half, device=x.device) * -emb)
        emb = x[:, None] * emb[None, :]
        return torch.cat((emb.sin(), emb.cos()), dim=-1)


class Block(nn.Module):
    def __init__(self, dim, dim_out, groups=8):
        super().__init__()
        self.proj = nn.Conv2d(dim, dim_out, 3, padding=1)
        self.norm = nn.GroupNorm(groups, dim_out)
        self.act = nn.SiLU()

    def forward(self, x, scale_shift=None):
        x = self.proj(x)
        x = self.norm(x)
        if exists(scale_shift):
            scale, shift = scale_shift
            x = x * (scale + 1) + shift
        return self.act(x)


class ResnetBlock(nn.Module):
    def __init__(self, dim, dim_out, *, time_emb_dim=None, groups=8):
        super().__init__()
        self.mlp = nn.Sequential(nn.SiLU(), nn.Linear(time_emb_dim, dim_out * 2)) if exists(time_emb_dim) else None
        self.block1 = Block(dim, dim_out, groups=groups)
        self.block2 = Block(dim_out, dim_out, groups=groups)
        self.res_conv = nn.Conv2d(dim, dim_out, 1) if dim != dim_out else nn.Identity()

    def forward(self, x, time_emb=None):
        scale_shift = None
        if exists(self.mlp) and exists(time_emb):
            time_emb = self.mlp(time_emb)
            time_emb = time_emb[:, :, None, None]
            scale_shift = time_emb.chunk(2, dim=1)
        h = self.block1(x, scale_shift=scale_shift)
        h = self.block2(h)
        return h + self.res_conv(x)


class LinearAttention(nn.Module):
    def __init__(self, dim, heads=4, dim_head=32):
        super().__init__()
        self.scale = dim_head ** -0.5
        self.heads = heads
        hidden = dim_head * heads
        self.to_qkv = nn.Conv2d(dim, hidden * 3, 1, bias=False)
        self.to_out = nn.Sequential(nn.Conv2d(hidden, dim, 1), nn.GroupNorm(1, dim))

    def forward(self, x):
        b, c, h, w = x.shape
        q, k, v = (t.reshape(b, self.heads, -1, h * w) for t in self.to_qkv(x).chunk(3, dim=1))
        q = q.softmax(dim=-2) * self.scale
        k = k.softmax(dim=-1)
        context = torch.einsum('b h d n, b h e n -> b h d e', k, v)
        out = torch.einsum('b h d e, b h d n -> b h e n', context, q)
        return self.to_out(out.reshape(b, -1, h, w))


class Unet(nn.Module):
    def __init__(self, dim=32, dim_mults=(1, 2, 4), channels=3):
        super().__init__()
        self.init_conv = nn.Conv2d(channels, dim, 7, padding=3)
        dims = [dim, *map(lambda m: dim * m, dim_mults)]
        in_out = list(zip(dims[:-1], dims[1:]))
        time_dim = dim * 4
        self.time_mlp = nn.Sequential(SinusoidalPosEmb(dim), nn.Linear(dim, time_dim), nn.GELU(), nn.Linear(time_dim, time_dim))
        self.downs = nn.ModuleList([])
        self.ups = nn.ModuleList([])
        n = len(in_out)
        for ind, (i, o) in enumerate(in_out):
            last = ind >= n - 1
            self.downs.append(nn.ModuleList([
                ResnetBlock(i, i, time_emb_dim=time_dim), ResnetBlock(i, i, time_emb_dim=time_dim), LinearAttention(i),
                nn.Conv2d(i, o, 4, 2, 1) if not last else nn.Conv2d(i, o, 3, padding=1)]))
        mid = dims[-1]
        self.mid_block1 = ResnetBlock(mid, mid, time_emb_dim=time_dim)
        self.mid_block2 = ResnetBlock(mid, mid, time_emb_dim=time_dim)
        for ind, (i, o) in enumerate(reversed(in_out)):
            last = ind == n - 1
            self.ups.append(nn.ModuleList([
                ResnetBlock(o + i, o, time_emb_dim=time_dim), ResnetBlock(o + i, o, time_emb_dim=time_dim), LinearAttention(o),
                nn.Sequential(nn.Upsample(scale_factor=2, mode='nearest'), nn.Conv2d(o, i, 3, padding=1)) if not last else nn.Conv2d(o, i, 3, padding=1)]))
        self.final_res_block = ResnetBlock(dim * 2, dim, time_emb_dim=time_dim)
        self.final_conv = nn.Conv2d(dim, channels, 1)

    def forward(self, x, time):
        x = self.init_conv(x)
        r = x.clone()
        t = self.time_mlp(time)
        h = []
        for block1, block2, attn, downsample in self.downs:
            x = block1(x, t)
            h.append(x)
            x = block2(x, t)
            x = attn(x) + x
            h.append(x)
            x = downsample(x)
        x = self.mid_block1(x, t)
        x = self.mid_block2(x, t)
        for block1, block2, attn, upsample in self.ups:
            x = torch.cat((x, h.pop()), dim=1)
            x = block1(x, t)
            x = torch.cat((x, h.pop()), dim=1)
            x = block2(x, t)
            x = attn(x) + x
            x = upsample(x)
        x = torch.cat((x, r), dim=1)
        x = self.final_res_block(x, t)
        return self.final_conv(x)


def extract(a, t, shape):
    b, *_ = t.shape
    out = a.gather(-1, t)
    return out.reshape(b, *((1,) * (len(shape) - 1)))


class GaussianDiffusion(nn.Module):
    def __init__(self, model, image_size, timesteps=1000):
        super().__init__()
        self.model, self.image_size, self.num_timesteps = model, image_size, timesteps
        betas = torch.linspace(1e-4, 0.02, timesteps, dtype=torch.float64)
        alphas = 1. - betas
        alphas_cumprod = torch.cumprod(alphas, dim=0)
        register = lambda name, val: self.register_buffer(name, val.to(torch.float32))
        register('betas', betas)
        register('alphas_cumprod', alphas_cumprod)
        register('sqrt_alphas_cumprod', torch.sqrt(alphas_cumprod))
        register('sqrt_one_minus_alphas_cumprod', torch.sqrt(1. - alphas_cumprod))

    def q_sample(self, x_start, t, noise):
        return extract(self.sqrt_alphas_cumprod, t, x_start.shape) * x_start + extract(self.sqrt_one_minus_alphas_cumprod, t, x_start.shape) * noise

    def p_losses(self, x_start, t, noise=None):
        noise = torch.randn_like(x_start) if noise is None else noise
        x = self.q_sample(x_start, t, noise)
        out = self.model(x, t)
        loss = F.mse_loss(out, noise, reduction='none')
        loss = loss.flatten(1).mean(1)
        return loss.mean()

    def forward(self, img):
        b, c, h, w, device = *img.shape, img.device
        t = torch.randint(0, self.num_timesteps, (b,), device=device).long()
        img = img * 2 - 1
        return self.p_losses(img, t)


class EMA:
    def __init__(self, beta):
        self.beta = beta

    def update_model_average(self, ma_model, current_model):
        for current_params, ma_params in zip(current_model.parameters(), ma_model.parameters()):
            old_weight, up_weight = ma_params.data, current_params.data
            ma_params.data = self.update_average(old_weight, up_weight)

    def update_average(self, old, new):
        if old is None:
            return new
        return old * self.beta + (1 - self.beta) * new


if __name__ == '__main__':
    p = argparse.ArgumentParser()
    p.add_argument('--batch_size', type=int, default=16)
    p.add_argument('--image_size', type=int, default=64)
    p.add_argument('--grad_accum', type=int, default=2)
    a = p.parse_args()
    diffusion = GaussianDiffusion(Unet(), a.image_size).cuda()
    opt = torch.optim.Adam(diffusion.parameters(), lr=1e-4, betas=(0.9, 0.99))
    ema, ema_model = EMA(0.995), deepcopy(diffusion)
    step = 0
    while step < 5:
        total = 0.
        for _ in range(a.grad_accum):
            img = torch.rand(a.batch_size, 3, a.image_size, a.image_size).cuda()
            loss = diffusion(img)
            loss = loss / a.grad_accum
            total += loss.item()
            loss.backward()
        torch.nn.utils.clip_grad_norm_(diffusion.parameters(), 1.0)
        opt.step()
        opt.zero_grad()
        step += 1
        if step % 2 == 0:
            ema.update_model_average(ema_model, diffusion)
        print(step, total)
