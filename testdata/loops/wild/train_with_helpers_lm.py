import torch
from transformers import AutoConfig, AutoModelForCausalLM

from helpers import SmoothedValue, base_parser, build_loader, build_optimizer, seed_everything, to_device, train_step


def add_labels(sample):
    sample["labels"] = sample["input_ids"].clone()
    return sample


def main():
    parser = base_parser()
    parser.add_argument("--steps", type=int, default=8)
    args = parser.parse_args()
    seed_everything(args.seed)
    device = torch.device("cuda")

    config = AutoConfig.from_pretrained(args.config)
    model = AutoModelForCausalLM.from_config(config).to(device)
    optimizer = build_optimizer(model, args.lr)
    loader = build_loader(config.vocab_size, args.seq_len, args.batch_size, args.steps, transform=add_labels)

    model.train()
    smooth = SmoothedValue()
    for step, batch in enumerate(loader, start=1):
        loss = train_step(model, to_device(batch, device), optimizer, max_norm=1.0)
        smooth.update(loss.item())
        if step % 4 == 0:
            print(f"step {step:>4} | loss {smooth.mean:.4f}")

    # a last look at unseen tokens
    model.eval()
    with torch.no_grad():
        for batch in build_loader(config.vocab_size, args.seq_len, args.batch_size, 2, transform=add_labels, shuffle=False):
            print("held out", model(**to_device(batch, device)).loss.item())


if __name__ == "__main__":
    main()
