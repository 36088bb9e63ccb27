"""Trains a head of its own on a model of transformers without a head."""
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F
from transformers import (BartConfig, BartModel, ConvNextConfig, ConvNextModel, DeiTConfig, DeiTModel, Dinov2Config, Dinov2Model, SegformerConfig,
                          SegformerModel, SwinConfig, SwinModel, T5Config, T5EncoderModel, T5Model, ViTConfig, ViTModel)

name = sys.argv[1]
small = dict(hidden_size=192, num_hidden_layers=3, num_attention_heads=3, intermediate_size=384)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        if name == "vit":
            self.body = ViTModel(ViTConfig(**small))
        elif name == "vit-unpooled":
            self.body = ViTModel(ViTConfig(**small), add_pooling_layer=False)
        elif name == "deit":
            self.body = DeiTModel(DeiTConfig(**small))
        elif name == "dinov2":
            self.body = Dinov2Model(Dinov2Config(hidden_size=192, num_hidden_layers=3, num_attention_heads=3))
        elif name == "swin":
            self.body = SwinModel(SwinConfig(embed_dim=48, depths=[2, 2], num_heads=[2, 4]))
        elif name == "convnext":
            self.body = ConvNextModel(ConvNextConfig(hidden_sizes=[48, 96, 192, 192], depths=[1, 2, 2, 1]))
        elif name == "segformer":
            self.body = SegformerModel(SegformerConfig(hidden_sizes=[32, 64, 160, 256]))
        elif name == "t5":
            self.body = T5Model(T5Config(vocab_size=8000, d_model=192, d_kv=64, d_ff=512, num_layers=3, num_heads=3))
        elif name == "t5-encoder":
            self.body = T5EncoderModel(T5Config(vocab_size=8000, d_model=192, d_kv=64, d_ff=512, num_layers=3, num_heads=3))
        else:
            self.body = BartModel(BartConfig(vocab_size=8000, d_model=192, encoder_layers=2, decoder_layers=2, encoder_attention_heads=3,
                                             decoder_attention_heads=3, encoder_ffn_dim=512, decoder_ffn_dim=512))
        self.head = nn.Linear({"swin": 96, "segformer": 256}.get(name, 192), 7)

    def forward(self, x):
        if name in ("t5", "bart"):
            h = self.body(input_ids=x, decoder_input_ids=x[:, :32]).last_hidden_state
        elif name == "t5-encoder":
            h = self.body(input_ids=x).last_hidden_state
        else:
            out = self.body(pixel_values=x)
            if name in ("swin", "vit", "convnext"):
                return self.head(out.pooler_output)
            h = out.last_hidden_state
            if name == "segformer":
                h = h.flatten(2).transpose(1, 2)
        return self.head(h.mean(1))


net = Net().cuda()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
net.train()
for step in range(4):
    x = torch.randint(3, 8000, (8, 128)) if name in ("t5", "t5-encoder", "bart") else torch.randn(8, 3, 224, 224)
    loss = F.cross_entropy(net(x.cuda()), torch.randint(0, 7, (8,)).cuda())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
