"""Two towers of different types, for images and texts."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from transformers import DistilBertConfig, DistilBertModel, ViTConfig, ViTModel


class DualEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.images = ViTModel(ViTConfig(hidden_size=256, num_hidden_layers=4, num_attention_heads=4, intermediate_size=1024), add_pooling_layer=False)
        config = DistilBertConfig(dim=384, n_layers=3, n_heads=6, hidden_dim=1536)
        self.texts = DistilBertModel(config)
        self.image_proj = nn.Linear(256, 128)
        self.text_proj = nn.Linear(config.hidden_size, 128)

    def forward(self, pixels, ids, mask):
        i = self.image_proj(self.images(pixels).last_hidden_state[:, 0])
        t = self.text_proj(self.texts(input_ids=ids, attention_mask=mask).last_hidden_state[:, 0])
        return F.normalize(i, dim=-1) @ F.normalize(t, dim=-1).T


model = DualEncoder().cuda()
optimizer = torch.optim.AdamW([{"params": model.images.parameters(), "lr": 1e-4}, {"params": model.texts.parameters(), "lr": 1e-5},
                               {"params": list(model.image_proj.parameters()) + list(model.text_proj.parameters())}])
model.train()
for step in range(4):
    ids = torch.randint(0, 30000, (16, 64))
    logits = model(torch.randn(16, 3, 224, 224).cuda(), ids.cuda(), torch.ones_like(ids).cuda())
    loss = F.cross_entropy(logits, torch.arange(16, device="cuda"))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
