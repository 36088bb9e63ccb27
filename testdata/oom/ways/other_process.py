import subprocess
import sys
import time
import torch
from net import Decoder, batch, next_token_loss

holder = subprocess.Popen([sys.executable, "-S", "-c", "import site; site.main(); import torch, time\nx = torch.empty(int(115 * 2**30), dtype=torch.uint8, device='cuda'); print('holding', flush=True); time.sleep(60)"], stdout=subprocess.PIPE, env={**__import__('os').environ, "OOM_OUT": ""})
holder.stdout.readline()
try:
    model = Decoder(width=2048, layers=12, heads=16, vocab=32000).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for step in range(20):
        ids = batch(16, 1024, 32000)
        loss = next_token_loss(model(ids), ids)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print("step", step, "loss", loss.item())
finally:
    holder.kill()
