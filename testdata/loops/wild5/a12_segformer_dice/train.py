import torch
from torch.utils.data import DataLoader
from transformers import SegformerConfig, SegformerForSemanticSegmentation

from seg.data import CityLike
from seg.engine import Engine
from seg.losses import ComboLoss

NUM_CLASSES = 19
EPOCHS = 2
BATCH_SIZE = 8

torch.manual_seed(2024)
torch.backends.cudnn.benchmark = False
torch.backends.cuda.matmul.allow_tf32 = True
torch.backends.cudnn.allow_tf32 = True

cfg = SegformerConfig(
    depths=[3, 4, 6, 3],
    hidden_sizes=[64, 128, 320, 512],
    decoder_hidden_size=768,
    num_labels=NUM_CLASSES,
)
model = SegformerForSemanticSegmentation(cfg).cuda()

head = [p for n, p in model.named_parameters() if "decode_head" in n]
body = [p for n, p in model.named_parameters() if "decode_head" not in n]
optimizer = torch.optim.AdamW([{"params": body, "lr": 6e-5}, {"params": head, "lr": 6e-4}], weight_decay=0.01)

train_loader = DataLoader(CityLike(36), batch_size=BATCH_SIZE, shuffle=True, num_workers=2)
val_loader = DataLoader(CityLike(8), batch_size=4, num_workers=2)
total = EPOCHS * len(train_loader)
scheduler = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=total, power=1.0)

engine = Engine(model, ComboLoss(NUM_CLASSES), optimizer, scheduler, torch.device("cuda"), NUM_CLASSES)
for e in range(EPOCHS):
    h = engine.train_epoch(train_loader)
    miou = engine.validate(val_loader)
    print(f"epoch {e} loss {sum(h)/len(h):.4f} mIoU {miou:.4f}")
