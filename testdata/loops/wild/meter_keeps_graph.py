import argparse

import torch
from torch.utils.data import DataLoader, Dataset
from transformers import AutoConfig, AutoModelForCausalLM


class AverageMeter(object):
    """Computes and stores the average and current value"""

    def __init__(self, name, fmt=":f"):
        self.name = name
        self.fmt = fmt
        self.reset()

    def reset(self):
        self.val = 0
        self.avg = 0
        self.sum = 0
        self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count

    def __str__(self):
        return ("{name} {val" + self.fmt + "} ({avg" + self.fmt + "})").format(name=self.name, val=float(self.val), avg=float(self.avg))


class TokenDataset(Dataset):
    def __init__(self, vocab, length, size):
        self.tokens = torch.randint(vocab, (size, length + 1))

    def __len__(self):
        return self.tokens.size(0)

    def __getitem__(self, i):
        row = self.tokens[i]
        return row[:-1], row[1:]


def train(loader, model, criterion, optimizer, epoch):
    losses = AverageMeter("Loss", ":.4e")
    model.train()
    for i, (source, target) in enumerate(loader):
        source = source.cuda(non_blocking=True)
        target = target.cuda(non_blocking=True)
        with torch.autocast(device_type="cuda", dtype=torch.bfloat16):
            output = model(input_ids=source).logits
            loss = criterion(output.flatten(0, 1), target.flatten())
        losses.update(loss, source.size(0))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if i % 2 == 0:
            print("Epoch: [{}][{}/{}]".format(epoch, i, len(loader)), str(losses))
    return losses.avg


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config")
    parser.add_argument("--batch-size", default=8, type=int)
    parser.add_argument("--seq-len", default=512, type=int)
    parser.add_argument("--epochs", default=2, type=int)
    args = parser.parse_args()
    config = AutoConfig.from_pretrained(args.config)
    model = AutoModelForCausalLM.from_config(config).cuda()
    criterion = torch.nn.CrossEntropyLoss().cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9, weight_decay=1e-4)
    dataset = TokenDataset(config.vocab_size, args.seq_len, args.batch_size * 5)
    loader = DataLoader(dataset, batch_size=args.batch_size, shuffle=True, pin_memory=True)
    for epoch in range(args.epochs):
        avg = train(loader, model, criterion, optimizer, epoch)
        print("epoch average", float(avg))


if __name__ == "__main__":
    main()
