import torch
import torch.nn as nn
from transformers import DebertaV2Config, DebertaV2Model


class UncertaintyWeights(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.log_vars = nn.Parameter(torch.zeros(n))

    def forward(self, losses):
        losses = torch.stack(losses)
        return (torch.exp(-self.log_vars) * losses + self.log_vars).sum()


class MultiTaskModel(nn.Module):
    def __init__(self, n_ner=17, n_intent=64, hidden=768, layers=12):
        super().__init__()
        cfg = DebertaV2Config(
            vocab_size=128100, hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=hidden // 64,
            intermediate_size=hidden * 4, max_position_embeddings=512, type_vocab_size=0,
            relative_attention=True, position_buckets=256, norm_rel_ebd="layer_norm", share_att_key=True,
            pos_att_type=["p2c", "c2p"], position_biased_input=False,
        )
        self.encoder = DebertaV2Model(cfg)
        self.heads = nn.ModuleDict({
            "ner": nn.Sequential(nn.Dropout(0.1), nn.Linear(hidden, n_ner)),
            "intent": nn.Sequential(nn.Linear(hidden, hidden), nn.Tanh(), nn.Dropout(0.1), nn.Linear(hidden, n_intent)),
            "score": nn.Linear(hidden, 1),
        })

    def forward(self, ids, mask):
        h = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        cls = h[:, 0]
        return {
            "ner": self.heads["ner"](h),
            "intent": self.heads["intent"](cls),
            "score": self.heads["score"](cls).squeeze(-1),
        }
