import torch
import torch.nn as nn
import torch.nn.functional as F
import numpy as np
from tqdm import trange

device = torch.device("cuda")
torch.set_default_device("cuda")
np.random.seed(0)

img2mse = lambda x, y: torch.mean((x - y) ** 2)
mse2psnr = lambda x: -10. * torch.log(x) / np.log(10.)


class Embedder:
    def __init__(self, n_freqs):
        self.bands = 2. ** torch.linspace(0., n_freqs - 1, n_freqs)
        self.out_dim = 3 + 3 * 2 * n_freqs

    def __call__(self, x):
        out = [x]
        for f in self.bands:
            out += [torch.sin(x * f), torch.cos(x * f)]
        return torch.cat(out, -1)


class NeRF(nn.Module):
    def __init__(self, D=8, W=256, input_ch=63, input_ch_views=27, skips=[4]):
        super().__init__()
        self.skips = skips
        self.input_ch, self.input_ch_views = input_ch, input_ch_views
        self.pts_linears = nn.ModuleList(
            [nn.Linear(input_ch, W)] + [nn.Linear(W, W) if i not in skips else nn.Linear(W + input_ch, W)
                                        for i in range(D - 1)])
        self.views_linears = nn.ModuleList([nn.Linear(input_ch_views + W, W // 2)])
        self.feature_linear = nn.Linear(W, W)
        self.alpha_linear = nn.Linear(W, 1)
        self.rgb_linear = nn.Linear(W // 2, 3)

    def forward(self, x):
        input_pts, input_views = torch.split(x, [self.input_ch, self.input_ch_views], dim=-1)
        h = input_pts
        for i, l in enumerate(self.pts_linears):
            h = F.relu(l(h))
            if i in self.skips:
                h = torch.cat([input_pts, h], -1)
        alpha = self.alpha_linear(h)
        feature = self.feature_linear(h)
        h = torch.cat([feature, input_views], -1)
        for l in self.views_linears:
            h = F.relu(l(h))
        return torch.cat([self.rgb_linear(h), alpha], -1)


def batchify(fn, chunk):
    def ret(inputs):
        return torch.cat([fn(inputs[i:i + chunk]) for i in range(0, inputs.shape[0], chunk)], 0)
    return ret


def run_network(inputs, viewdirs, fn, embed_fn, embeddirs_fn, netchunk=1024 * 64):
    flat = torch.reshape(inputs, [-1, 3])
    embedded = embed_fn(flat)
    dirs = viewdirs[:, None].expand(inputs.shape)
    embedded = torch.cat([embedded, embeddirs_fn(torch.reshape(dirs, [-1, 3]))], -1)
    out = batchify(fn, netchunk)(embedded)
    return torch.reshape(out, list(inputs.shape[:-1]) + [out.shape[-1]])


def raw2outputs(raw, z_vals, rays_d, noise_std=0.):
    dists = z_vals[..., 1:] - z_vals[..., :-1]
    dists = torch.cat([dists, torch.tensor([1e10]).expand(dists[..., :1].shape)], -1)
    dists = dists * torch.norm(rays_d[..., None, :], dim=-1)
    rgb = torch.sigmoid(raw[..., :3])
    noise = torch.randn(raw[..., 3].shape) * noise_std if noise_std > 0 else 0.
    alpha = 1. - torch.exp(-F.relu(raw[..., 3] + noise) * dists)
    T = torch.cumprod(torch.cat([torch.ones((alpha.shape[0], 1)), 1. - alpha + 1e-10], -1), -1)[:, :-1]
    weights = alpha * T
    rgb_map = torch.sum(weights[..., None] * rgb, -2)
    acc = torch.sum(weights, -1)
    return rgb_map + (1. - acc[..., None]), weights


def sample_pdf(bins, weights, n, det=False):
    weights = weights + 1e-5
    pdf = weights / torch.sum(weights, -1, keepdim=True)
    cdf = torch.cumsum(pdf, -1)
    cdf = torch.cat([torch.zeros_like(cdf[..., :1]), cdf], -1)
    u = torch.linspace(0., 1., steps=n).expand(list(cdf.shape[:-1]) + [n]) if det else \
        torch.rand(list(cdf.shape[:-1]) + [n])
    u = u.contiguous()
    inds = torch.searchsorted(cdf, u, right=True)
    below = torch.max(torch.zeros_like(inds - 1), inds - 1)
    above = torch.min((cdf.shape[-1] - 1) * torch.ones_like(inds), inds)
    inds_g = torch.stack([below, above], -1)
    shape = [inds_g.shape[0], inds_g.shape[1], cdf.shape[-1]]
    cdf_g = torch.gather(cdf.unsqueeze(1).expand(shape), 2, inds_g)
    bins_g = torch.gather(bins.unsqueeze(1).expand(shape), 2, inds_g)
    denom = cdf_g[..., 1] - cdf_g[..., 0]
    denom = torch.where(denom < 1e-5, torch.ones_like(denom), denom)
    t = (u - cdf_g[..., 0]) / denom
    return bins_g[..., 0] + t * (bins_g[..., 1] - bins_g[..., 0])


def render_rays(rays_o, rays_d, coarse, fine, emb, emb_d, N_samples=64, N_importance=128, perturb=1., noise=1.):
    n = rays_o.shape[0]
    viewdirs = rays_d / torch.norm(rays_d, dim=-1, keepdim=True)
    z_vals = torch.linspace(2., 6., N_samples).expand([n, N_samples])
    if perturb > 0:
        mids = .5 * (z_vals[..., 1:] + z_vals[..., :-1])
        upper = torch.cat([mids, z_vals[..., -1:]], -1)
        lower = torch.cat([z_vals[..., :1], mids], -1)
        z_vals = lower + (upper - lower) * torch.rand(z_vals.shape)
    pts = rays_o[..., None, :] + rays_d[..., None, :] * z_vals[..., :, None]
    raw = run_network(pts, viewdirs, coarse, emb, emb_d)
    rgb0, weights = raw2outputs(raw, z_vals, rays_d, noise)
    mid = .5 * (z_vals[..., 1:] + z_vals[..., :-1])
    zs = sample_pdf(mid, weights[..., 1:-1], N_importance, det=(perturb == 0.)).detach()
    z_vals, _ = torch.sort(torch.cat([z_vals, zs], -1), -1)
    pts = rays_o[..., None, :] + rays_d[..., None, :] * z_vals[..., :, None]
    raw = run_network(pts, viewdirs, fine, emb, emb_d)
    rgb, _ = raw2outputs(raw, z_vals, rays_d, noise)
    return rgb, rgb0


def get_rays(H, W, focal, c2w):
    i, j = torch.meshgrid(torch.linspace(0, W - 1, W), torch.linspace(0, H - 1, H), indexing="ij")
    i, j = i.t(), j.t()
    dirs = torch.stack([(i - W * .5) / focal, -(j - H * .5) / focal, -torch.ones_like(i)], -1)
    rays_d = torch.sum(dirs[..., np.newaxis, :] * c2w[:3, :3], -1)
    return c2w[:3, -1].expand(rays_d.shape), rays_d


def train():
    H = W = 100
    focal = 138.
    N_rand = 2048
    n_img = 6
    N_iters = 10
    images = torch.rand(n_img, H, W, 3)
    poses = torch.eye(4).repeat(n_img, 1, 1)
    poses[:, 2, 3] = 4.
    emb, emb_d = Embedder(10), Embedder(4)
    coarse = NeRF(input_ch=emb.out_dim, input_ch_views=emb_d.out_dim)
    fine = NeRF(input_ch=emb.out_dim, input_ch_views=emb_d.out_dim)
    grad_vars = list(coarse.parameters()) + list(fine.parameters())
    optimizer = torch.optim.Adam(params=grad_vars, lr=5e-4, betas=(0.9, 0.999))
    global_step = 0
    for i in trange(1, N_iters + 1):
        img_i = np.random.choice(n_img - 1)
        target, pose = images[img_i], poses[img_i, :3, :4]
        rays_o, rays_d = get_rays(H, W, focal, pose)
        sel = torch.from_numpy(np.random.choice(H * W, size=[N_rand], replace=False)).to(device)
        rays_o, rays_d = rays_o.reshape(-1, 3)[sel], rays_d.reshape(-1, 3)[sel]
        target_s = target.reshape(-1, 3)[sel]
        rgb, rgb0 = render_rays(rays_o, rays_d, coarse, fine, emb, emb_d)
        optimizer.zero_grad()
        img_loss = img2mse(rgb, target_s)
        loss = img_loss + img2mse(rgb0, target_s)
        psnr = mse2psnr(img_loss)
        loss.backward()
        optimizer.step()
        new_lr = 5e-4 * (0.1 ** (global_step / 250000))
        for g in optimizer.param_groups:
            g["lr"] = new_lr
        global_step += 1
        if i % 5 == 0:
            print(f"[TRAIN] Iter: {i} Loss: {loss.item()}  PSNR: {psnr.item()}")

    with torch.no_grad():
        rays_o, rays_d = get_rays(H, W, focal, poses[-1, :3, :4])
        ro, rd = rays_o.reshape(-1, 3), rays_d.reshape(-1, 3)
        out = []
        for k in range(0, ro.shape[0], 4096):
            rgb, _ = render_rays(ro[k:k + 4096], rd[k:k + 4096], coarse, fine, emb, emb_d, perturb=0., noise=0.)
            out.append(rgb.cpu())
        img = torch.cat(out).reshape(H, W, 3)
    print("test psnr", mse2psnr(img2mse(img, images[-1].cpu())).item())


if __name__ == "__main__":
    train()
