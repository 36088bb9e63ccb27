"""DeBERTa with the lists of its configuration written in the program."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from transformers import DebertaV2Config, DebertaV2Model

config = DebertaV2Config(vocab_size=8000, hidden_size=192, num_hidden_layers=3, num_attention_heads=3, intermediate_size=384, type_vocab_size=0,
                         relative_attention=True, position_buckets=64, norm_rel_ebd="layer_norm", share_att_key=True, pos_att_type=["p2c", "c2p"],
                         position_biased_input=False)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = DebertaV2Model(config)
        self.heads = nn.ModuleDict({"tags": nn.Linear(192, 9)})

    def forward(self, ids, mask):
        return self.heads["tags"](self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state)


model = Tagger().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
model.train()
for step in range(4):
    ids = torch.randint(5, 8000, (8, 128))
    logits = model(ids.cuda(), torch.ones_like(ids).cuda())
    loss = F.cross_entropy(logits.flatten(0, 1), torch.randint(0, 9, (8 * 128,)).cuda())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
