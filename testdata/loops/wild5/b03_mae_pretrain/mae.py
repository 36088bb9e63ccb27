"""Masked autoencoder, ViT-B encoder, synthetic images."""
import argparse
import math
import tempfile
import os

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from tqdm import tqdm


def sincos_2d(dim, grid):
    def one(d, pos):
        omega = np.arange(d // 2, dtype=np.float64) / (d / 2.0)
        omega = 1.0 / 10000 ** omega
        out = np.einsum("m,d->md", pos.reshape(-1), omega)
        return np.concatenate([np.sin(out), np.cos(out)], axis=1)

    gh, gw = np.arange(grid, dtype=np.float32), np.arange(grid, dtype=np.float32)
    g = np.stack(np.meshgrid(gw, gh), axis=0)
    emb = np.concatenate([one(dim // 2, g[0]), one(dim // 2, g[1])], axis=1)
    emb = np.concatenate([np.zeros([1, dim]), emb], axis=0)
    return torch.from_numpy(emb).float().unsqueeze(0)


class Attention(nn.Module):
    def __init__(self, dim, num_heads=8, qkv_bias=True):
        super().__init__()
        self.num_heads = num_heads
        self.scale = (dim // num_heads) ** -0.5
        self.qkv = nn.Linear(dim, dim * 3, bias=qkv_bias)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.num_heads, C // self.num_heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        attn = (q @ k.transpose(-2, -1)) * self.scale
        attn = attn.softmax(dim=-1)
        x = (attn @ v).transpose(1, 2).reshape(B, N, C)
        return self.proj(x)


class Mlp(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.fc1 = nn.Linear(dim, hidden)
        self.act = nn.GELU()
        self.fc2 = nn.Linear(hidden, dim)

    def forward(self, x):
        return self.fc2(self.act(self.fc1(x)))


class Block(nn.Module):
    def __init__(self, dim, heads, mlp_ratio=4.0):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim, eps=1e-6)
        self.attn = Attention(dim, heads)
        self.norm2 = nn.LayerNorm(dim, eps=1e-6)
        self.mlp = Mlp(dim, int(dim * mlp_ratio))

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        x = x + self.mlp(self.norm2(x))
        return x


class MaskedAutoencoderViT(nn.Module):
    def __init__(self, img=224, patch=16, dim=768, depth=12, heads=12, ddim=512, ddepth=8, dheads=16):
        super().__init__()
        self.p = patch
        grid = img // patch
        self.patch_embed = nn.Conv2d(3, dim, patch, patch)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos_embed = nn.Parameter(sincos_2d(dim, grid), requires_grad=False)
        self.blocks = nn.ModuleList([Block(dim, heads) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.decoder_embed = nn.Linear(dim, ddim)
        self.mask_token = nn.Parameter(torch.zeros(1, 1, ddim))
        self.decoder_pos_embed = nn.Parameter(sincos_2d(ddim, grid), requires_grad=False)
        self.decoder_blocks = nn.ModuleList([Block(ddim, dheads) for _ in range(ddepth)])
        self.decoder_norm = nn.LayerNorm(ddim)
        self.decoder_pred = nn.Linear(ddim, patch ** 2 * 3)
        nn.init.normal_(self.cls_token, std=0.02)
        nn.init.normal_(self.mask_token, std=0.02)

    def patchify(self, imgs):
        p = self.p
        h = w = imgs.shape[2] // p
        x = imgs.reshape(imgs.shape[0], 3, h, p, w, p)
        x = torch.einsum("nchpwq->nhwpqc", x)
        return x.reshape(imgs.shape[0], h * w, p ** 2 * 3)

    def random_masking(self, x, ratio):
        N, L, D = x.shape
        keep = int(L * (1 - ratio))
        noise = torch.rand(N, L, device=x.device)
        ids_shuffle = torch.argsort(noise, dim=1)
        ids_restore = torch.argsort(ids_shuffle, dim=1)
        ids_keep = ids_shuffle[:, :keep]
        x_masked = torch.gather(x, 1, ids_keep.unsqueeze(-1).repeat(1, 1, D))
        mask = torch.ones([N, L], device=x.device)
        mask[:, :keep] = 0
        mask = torch.gather(mask, 1, ids_restore)
        return x_masked, mask, ids_restore

    def forward_encoder(self, x, ratio):
        x = self.patch_embed(x).flatten(2).transpose(1, 2)
        x = x + self.pos_embed[:, 1:, :]
        x, mask, ids_restore = self.random_masking(x, ratio)
        cls = self.cls_token + self.pos_embed[:, :1, :]
        x = torch.cat((cls.expand(x.shape[0], -1, -1), x), dim=1)
        for blk in self.blocks:
            x = blk(x)
        return self.norm(x), mask, ids_restore

    def forward_decoder(self, x, ids_restore):
        x = self.decoder_embed(x)
        mt = self.mask_token.repeat(x.shape[0], ids_restore.shape[1] + 1 - x.shape[1], 1)
        x_ = torch.cat([x[:, 1:, :], mt.to(x.dtype)], dim=1)
        x_ = torch.gather(x_, 1, ids_restore.unsqueeze(-1).repeat(1, 1, x.shape[2]))
        x = torch.cat([x[:, :1, :], x_], dim=1)
        x = x + self.decoder_pos_embed
        for blk in self.decoder_blocks:
            x = blk(x)
        return self.decoder_pred(self.decoder_norm(x))[:, 1:, :]

    def forward_loss(self, imgs, pred, mask, norm_pix=True):
        target = self.patchify(imgs)
        if norm_pix:
            mean = target.mean(dim=-1, keepdim=True)
            var = target.var(dim=-1, keepdim=True)
            target = (target - mean) / (var + 1e-6) ** 0.5
        loss = ((pred - target) ** 2).mean(dim=-1)
        return (loss * mask).sum() / mask.sum()

    def forward(self, imgs, ratio=0.75):
        latent, mask, ids_restore = self.forward_encoder(imgs, ratio)
        pred = self.forward_decoder(latent, ids_restore)
        return self.forward_loss(imgs, pred, mask), pred, mask


class FakeImages(Dataset):
    def __init__(self, n, size):
        self.n, self.size = n, size

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        return torch.randn(3, self.size, self.size, generator=g)


def adjust_lr(opt, epoch, args):
    if epoch < args.warmup:
        lr = args.lr * epoch / args.warmup
    else:
        lr = args.lr * 0.5 * (1 + math.cos(math.pi * (epoch - args.warmup) / max(1e-6, args.epochs - args.warmup)))
    for g in opt.param_groups:
        g["lr"] = lr


def main(args):
    torch.manual_seed(args.seed)
    loader = DataLoader(FakeImages(args.n, 224), batch_size=args.batch_size, shuffle=True, drop_last=True,
                        num_workers=0, pin_memory=True)
    model = MaskedAutoencoderViT().cuda()
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=args.lr, betas=(0.9, 0.95),
                            weight_decay=0.05)
    scaler = torch.amp.GradScaler("cuda")
    history = []
    for epoch in range(args.epochs):
        model.train()
        for it, imgs in enumerate(tqdm(loader)):
            adjust_lr(opt, it / len(loader) + epoch, args)
            imgs = imgs.cuda(non_blocking=True)
            with torch.amp.autocast("cuda"):
                loss, _, _ = model(imgs, args.mask_ratio)
            scaler.scale(loss).backward()
            scaler.step(opt)
            scaler.update()
            opt.zero_grad()
            torch.cuda.synchronize()
            history.append(loss.item())
        print("epoch", epoch, "loss", sum(history) / len(history))
    with tempfile.TemporaryDirectory() as d:
        torch.save({"model": model.state_dict(), "epoch": epoch, "args": vars(args)}, os.path.join(d, "ckpt.pth"))


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--batch_size", default=64, type=int)
    p.add_argument("--epochs", default=2, type=int)
    p.add_argument("--n", default=520, type=int)
    p.add_argument("--lr", default=1.5e-4, type=float)
    p.add_argument("--warmup", default=1, type=int)
    p.add_argument("--mask_ratio", default=0.75, type=float)
    p.add_argument("--seed", default=0, type=int)
    main(p.parse_args())
