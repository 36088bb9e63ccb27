# quick fine-tune, fp32 all the way
import argparse
import torch
import torch.optim as optim
from transformers import AutoModelForCausalLM, AutoConfig

p = argparse.ArgumentParser()
p.add_argument('--config'); p.add_argument('--batch-size', type=int); p.add_argument('--seq-len', type=int)
p.add_argument('--n', type=int, default=8)
a = p.parse_args()
B, T = a.batch_size, a.seq_len

conf = AutoConfig.from_pretrained(a.config)
net = AutoModelForCausalLM.from_config(conf).to('cuda')
data = [torch.randint(0, conf.vocab_size, (B, T)) for _ in range(a.n)]
optimizer = optim.Adam(net.parameters(), lr=3e-5)

running_loss = 0.0
for epoch in range(1):
  for i, inputs in enumerate(data, 0):
    inputs = inputs.to('cuda')

    # zero the parameter gradients
    optimizer.zero_grad()

    # forward + backward + optimize
    outputs = net(inputs, labels=inputs)
    loss = outputs[0]
    loss.backward()
    optimizer.step()

    # print statistics
    running_loss += loss
    if i % 4 == 3:
      print('[%d, %5d] loss: %.3f' % (epoch + 1, i + 1, running_loss / 4))
      running_loss = 0.0

print('Finished Training')
