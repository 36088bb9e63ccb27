# generator / discriminator on discrete tokens (replaced-token detection, updated in turn)
import argparse

import torch
import torch.nn as nn
from transformers import AutoConfig, AutoModel, AutoModelForMaskedLM


class Discriminator(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.encoder = AutoModel.from_config(config)
        self.head = nn.Sequential(nn.Linear(config.hidden_size, config.hidden_size), nn.GELU(), nn.Linear(config.hidden_size, 1))

    def forward(self, ids):
        return self.head(self.encoder(input_ids=ids).last_hidden_state).squeeze(-1)


parser = argparse.ArgumentParser()
parser.add_argument("--config", type=str)
parser.add_argument("--batch-size", type=int, default=8)
parser.add_argument("--seq-len", type=int, default=128)
parser.add_argument("--niter", type=int, default=8)
opt = parser.parse_args()
print(opt)

cfg = AutoConfig.from_pretrained(opt.config)
device = torch.device("cuda:0")
netG = AutoModelForMaskedLM.from_config(cfg).to(device)
netD = Discriminator(cfg).to(device)
optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))
optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
MASK = 103 % cfg.vocab_size

for i in range(opt.niter):
    real = torch.randint(0, cfg.vocab_size, (opt.batch_size, opt.seq_len), device=device)
    where = torch.rand(real.shape, device=device) < 0.15
    masked = real.masked_fill(where, MASK)

    ############################
    # (1) Update G: fill the holes
    ###########################
    netG.zero_grad()
    logits = netG(input_ids=masked).logits
    errG = nn.functional.cross_entropy(logits[where], real[where])
    errG.backward()
    optimizerG.step()

    ############################
    # (2) Update D: find the replaced tokens
    ###########################
    netD.zero_grad()
    fake = torch.where(where, logits.detach().argmax(-1), real)
    target = (fake != real).float()
    errD = bce(netD(fake), target)
    errD.backward()
    optimizerD.step()

    print("[%d/%d] Loss_D: %.4f Loss_G: %.4f" % (i, opt.niter, errD.item(), errG.item()))
