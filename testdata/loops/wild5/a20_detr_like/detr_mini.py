import torch
import torch.nn as nn
import torch.nn.functional as F
import timm
from scipy.optimize import linear_sum_assignment
from torchvision.ops import box_convert, generalized_box_iou

NUM_CLASSES = 80
NUM_QUERIES = 100
HIDDEN = 256


class PositionEmbeddingLearned(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.row = nn.Embedding(64, d // 2)
        self.col = nn.Embedding(64, d // 2)

    def forward(self, x):
        h, w = x.shape[-2:]
        c = self.col(torch.arange(w, device=x.device))
        r = self.row(torch.arange(h, device=x.device))
        pos = torch.cat([c[None].expand(h, -1, -1), r[:, None].expand(-1, w, -1)], -1)
        return pos.flatten(0, 1)[None]


class MLP(nn.Module):
    def __init__(self, i, h, o, n):
        super().__init__()
        dims = [i] + [h] * (n - 1) + [o]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(dims[:-1], dims[1:]))

    def forward(self, x):
        for k, l in enumerate(self.layers):
            x = F.relu(l(x)) if k < len(self.layers) - 1 else l(x)
        return x


class DecoderWithAux(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.TransformerDecoderLayer(d, 8, 2048, dropout=0.1, batch_first=True) for _ in range(n))
        self.norm = nn.LayerNorm(d)

    def forward(self, q, mem):
        outs = []
        for l in self.layers:
            q = l(q, mem)
            outs.append(self.norm(q))
        return torch.stack(outs)


class DETR(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = timm.create_model("resnet50", pretrained=False, features_only=True, out_indices=(4,))
        c = self.backbone.feature_info.channels()[-1]
        self.proj = nn.Conv2d(c, HIDDEN, 1)
        self.pos = PositionEmbeddingLearned(HIDDEN)
        enc = nn.TransformerEncoderLayer(HIDDEN, 8, 2048, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(enc, 6, enable_nested_tensor=False)
        self.decoder = DecoderWithAux(6, HIDDEN)
        self.query = nn.Embedding(NUM_QUERIES, HIDDEN)
        self.cls = nn.Linear(HIDDEN, NUM_CLASSES + 1)
        self.box = MLP(HIDDEN, HIDDEN, 4, 3)

    def forward(self, x):
        f = self.proj(self.backbone(x)[-1])
        mem = self.encoder(f.flatten(2).transpose(1, 2) + self.pos(f))
        q = self.query.weight[None].expand(x.size(0), -1, -1)
        hs = self.decoder(q, mem)
        return self.cls(hs), self.box(hs).sigmoid()


@torch.no_grad()
def match(logits, boxes, targets):
    idx = []
    for b, t in enumerate(targets):
        prob = logits[b].softmax(-1)
        cost = (5 * torch.cdist(boxes[b], t["boxes"], p=1) - prob[:, t["labels"]]
                - 2 * generalized_box_iou(box_convert(boxes[b], "cxcywh", "xyxy"),
                                          box_convert(t["boxes"], "cxcywh", "xyxy")))
        i, j = linear_sum_assignment(cost.nan_to_num(0.0).cpu().numpy())
        idx.append((torch.as_tensor(i), torch.as_tensor(j)))
    return idx


def set_loss(logits, boxes, targets, weight):
    idx = match(logits, boxes, targets)
    tgt = torch.full(logits.shape[:2], NUM_CLASSES, dtype=torch.long, device=logits.device)
    src, dst = [], []
    for b, (i, j) in enumerate(idx):
        tgt[b, i] = targets[b]["labels"][j]
        src.append(boxes[b, i])
        dst.append(targets[b]["boxes"][j])
    src, dst = torch.cat(src), torch.cat(dst)
    l_ce = F.cross_entropy(logits.transpose(1, 2), tgt, weight)
    l_l1 = F.l1_loss(src, dst, reduction="sum") / len(src)
    giou = torch.diag(generalized_box_iou(box_convert(src, "cxcywh", "xyxy"), box_convert(dst, "cxcywh", "xyxy")))
    return l_ce + 5 * l_l1 + 2 * (1 - giou).sum() / len(src)


def batch(bs, size, n_obj=10):
    imgs = torch.randn(bs, 3, *size, device="cuda")
    tg = []
    for _ in range(bs):
        cxcy = torch.rand(n_obj, 2, device="cuda") * 0.5 + 0.25
        wh = torch.rand(n_obj, 2, device="cuda") * 0.2 + 0.05
        tg.append({"labels": torch.randint(0, NUM_CLASSES, (n_obj,), device="cuda"), "boxes": torch.cat([cxcy, wh], 1)})
    return imgs, tg


def main(bs=6, size=(640, 800), steps=7):
    torch.manual_seed(0)
    model = DETR().cuda()
    # frozen batch norm + stem
    for n, p in model.backbone.named_parameters():
        if "layer2" not in n and "layer3" not in n and "layer4" not in n:
            p.requires_grad_(False)
    opt = torch.optim.AdamW([
        {"params": [p for n, p in model.named_parameters() if "backbone" not in n and p.requires_grad]},
        {"params": [p for n, p in model.named_parameters() if "backbone" in n and p.requires_grad], "lr": 1e-5},
    ], lr=1e-4, weight_decay=1e-4)
    weight = torch.ones(NUM_CLASSES + 1, device="cuda")
    weight[-1] = 0.1
    model.train()
    for m in model.backbone.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.eval()
    for s in range(steps):
        x, t = batch(bs, size)
        logits, boxes = model(x)
        losses = [set_loss(l, b, t, weight) for l, b in zip(logits, boxes)]
        loss = sum(losses)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        opt.step()
        print(f"step {s} loss {loss.item():.3f} last {losses[-1].item():.3f}")


if __name__ == "__main__":
    main()
