import argparse, random
import numpy as np
import torch, torch.nn as nn
from torch.utils.data import DataLoader, Dataset
from transformers import ViTConfig, ViTForImageClassification


class FakeData(Dataset):
	def __init__(self, n, size, classes):
		self.n, self.size, self.classes = n, size, classes
	def __len__(self):
		return self.n
	def __getitem__(self, idx):
		g = torch.Generator().manual_seed(idx)
		return torch.randn(3, self.size, self.size, generator=g), torch.randint(self.classes, (), generator=g)


def mixup_data(x, y, alpha=0.8):
	lam = np.random.beta(alpha, alpha) if alpha > 0 else 1
	index = torch.randperm(x.size(0)).cuda()
	mixed_x = lam * x + (1 - lam) * x[index, :]
	return mixed_x, y, y[index], lam


def mixup_criterion(criterion, pred, y_a, y_b, lam):
	return lam * criterion(pred, y_a) + (1 - lam) * criterion(pred, y_b)


def train(net, trainloader, optimizer, criterion, scaler, epoch):
	net.train()
	train_loss, correct, total = 0, 0, 0
	for batch_idx, (inputs, targets) in enumerate(trainloader):
		inputs, targets = inputs.cuda(), targets.cuda()
		inputs, ta, tb, lam = mixup_data(inputs, targets)
		with torch.amp.autocast('cuda', dtype=torch.float16):
			outputs = net(inputs)['logits']
			loss = mixup_criterion(criterion, outputs, ta, tb, lam)
		scaler.scale(loss).backward()
		scaler.step(optimizer)
		scaler.update()
		optimizer.zero_grad()

		train_loss += loss.item()
		_, predicted = outputs.max(1)
		total += targets.size(0)
		correct += (lam * predicted.eq(ta).sum().float() + (1 - lam) * predicted.eq(tb).sum().float())
		print(epoch, batch_idx, 'Loss: %.3f | Acc: %.3f%%' % (train_loss / (batch_idx + 1), 100. * correct / total))


def main():
	parser = argparse.ArgumentParser(description='ViT with mixup')
	parser.add_argument('--config', type=str)
	parser.add_argument('--batch-size', default=64, type=int)
	parser.add_argument('--seq-len', default=197, type=int)  # fixed by the patches
	parser.add_argument('--epochs', default=2, type=int)
	parser.add_argument('--lr', default=0.01, type=float)
	args = parser.parse_args()
	random.seed(0); np.random.seed(0); torch.manual_seed(0)

	config = ViTConfig.from_pretrained(args.config)
	config.num_labels = 100
	net = ViTForImageClassification(config)
	net.cuda()
	trainloader = DataLoader(FakeData(args.batch_size * 4, config.image_size, 100), batch_size=args.batch_size, shuffle=True)
	criterion = nn.CrossEntropyLoss()
	optimizer = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4, nesterov=True)
	scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1], gamma=0.1)
	scaler = torch.amp.GradScaler('cuda')
	for epoch in range(args.epochs):
		train(net, trainloader, optimizer, criterion, scaler, epoch)
		scheduler.step()


if __name__ == '__main__':
	main()
