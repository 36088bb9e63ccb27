import torch
from transformers import AutoConfig, AutoModelForMaskedLM

import helpers


class RandomMask:
    def __init__(self, mask_token, p=0.15):
        self.mask_token, self.p = mask_token, p

    def __call__(self, sample):
        ids = sample["input_ids"]
        chosen = torch.rand(ids.shape) < self.p
        sample["labels"] = ids.masked_fill(~chosen, -100)
        sample["input_ids"] = ids.masked_fill(chosen, self.mask_token)
        return sample


if __name__ == "__main__":
    parser = helpers.base_parser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--fp32", action="store_true")
    args = parser.parse_args()
    helpers.seed_everything(args.seed)

    cfg = AutoConfig.from_pretrained(args.config)
    model = AutoModelForMaskedLM.from_config(cfg)
    model.gradient_checkpointing_enable()
    model.cuda()
    opt = helpers.build_optimizer(model, args.lr)
    loader = helpers.build_loader(cfg.vocab_size, args.seq_len, args.batch_size, 4, transform=RandomMask(3))
    dtype = None if args.fp32 else torch.bfloat16

    model.train()
    for epoch in range(args.epochs):
        meter = helpers.SmoothedValue(window=100)
        for batch in loader:
            batch = helpers.to_device(batch, "cuda")
            loss = helpers.train_step(model, batch, opt, dtype=dtype)
            meter.update(loss)
        print(f"epoch {epoch}: {meter.mean.item():.4f}")
