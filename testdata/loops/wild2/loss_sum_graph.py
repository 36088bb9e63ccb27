import argparse, torch
from transformers import AutoConfig, AutoModelForCausalLM

p = argparse.ArgumentParser()
p.add_argument('--config')
p.add_argument('--batch-size', type=int, default=4)
p.add_argument('--seq-len', type=int, default=128)
p.add_argument('--steps', type=int, default=6)
a = p.parse_args()

dev = 'cuda' if torch.cuda.is_available() else 'cpu'
c = AutoConfig.from_pretrained(a.config)
net = AutoModelForCausalLM.from_config(c)
net = net.to(dev)
opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, nesterov=True)

loss_sum = 0
for i in range(a.steps):
    x = torch.randint(0, c.vocab_size, (a.batch_size, a.seq_len), device=dev)
    out = net(input_ids=x, labels=x)
    loss = out.loss
    opt.zero_grad()
    loss.backward()
    opt.step()
    loss_sum += loss
    if (i + 1) % 2 == 0:
        print('avg loss', float(loss_sum) / (i + 1))
print('final', (loss_sum / a.steps).item())
