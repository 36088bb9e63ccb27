import argparse
import gc
import torch
from torch.utils.data import DataLoader
from transformers import AutoConfig, AutoModelForCausalLM

parser = argparse.ArgumentParser()
parser.add_argument("--config"); parser.add_argument("--batch-size", type=int); parser.add_argument("--seq-len", type=int)
args = parser.parse_args()

gc.collect()
torch.cuda.empty_cache()

device = 'cuda' if torch.cuda.is_available() else 'cpu'
config = AutoConfig.from_pretrained(args.config)
model = AutoModelForCausalLM.from_config(config)
model.to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
train_loader = DataLoader(torch.randint(0, config.vocab_size, (4 * args.batch_size, args.seq_len)), batch_size=args.batch_size, shuffle=True)
valid_loader = DataLoader(torch.randint(0, config.vocab_size, (2 * args.batch_size, args.seq_len)), batch_size=args.batch_size)

all_losses = []
for epoch in range(2):
    model.train()
    for input_ids in train_loader:
        input_ids = input_ids.to(device)
        outputs = model(input_ids=input_ids, labels=input_ids)
        loss = outputs.loss
        logits = outputs.logits
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        all_losses.append(loss.detach().cpu().numpy())
        # free what we can
        del input_ids, outputs, loss, logits
        gc.collect()
        torch.cuda.empty_cache()

    model.eval()
    val = 0
    with torch.no_grad():
        for input_ids in valid_loader:
            input_ids = input_ids.to(device)
            outputs = model(input_ids=input_ids, labels=input_ids)
            val += outputs.loss.item()
            del outputs
            torch.cuda.empty_cache()
    print(f'Epoch {epoch}: train {sum(all_losses) / len(all_losses):.4f} val {val / len(valid_loader):.4f}')
