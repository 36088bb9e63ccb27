import argparse
import warnings

import torch
from torch.cuda.amp import GradScaler, autocast
from torch.utils.data import DataLoader, RandomSampler, TensorDataset
from tqdm import tqdm, trange
from transformers import AutoConfig, AutoModelForCausalLM, get_linear_schedule_with_warmup

warnings.filterwarnings("ignore", category=FutureWarning)


def train(args, train_dataset, model):
    train_sampler = RandomSampler(train_dataset)
    train_dataloader = DataLoader(train_dataset, sampler=train_sampler, batch_size=args.batch_size)
    t_total = len(train_dataloader) // args.gradient_accumulation_steps * args.num_train_epochs
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.learning_rate, eps=args.adam_epsilon)
    scheduler = get_linear_schedule_with_warmup(optimizer, num_warmup_steps=0, num_training_steps=t_total)
    scaler = GradScaler()

    global_step = 0
    tr_loss, logging_loss = 0.0, 0.0
    model.zero_grad()
    train_iterator = trange(int(args.num_train_epochs), desc="Epoch")
    for _ in train_iterator:
        epoch_iterator = tqdm(train_dataloader, desc="Iteration")
        for step, batch in enumerate(epoch_iterator):
            model.train()
            batch = tuple(t.to(args.device) for t in batch)
            inputs = {"input_ids": batch[0], "labels": batch[0]}
            with autocast():
                outputs = model(**inputs)
                loss = outputs[0]
            if args.gradient_accumulation_steps > 1:
                loss = loss / args.gradient_accumulation_steps
            scaler.scale(loss).backward()
            tr_loss += loss.item()
            if (step + 1) % args.gradient_accumulation_steps == 0:
                scaler.unscale_(optimizer)
                torch.nn.utils.clip_grad_norm_(model.parameters(), args.max_grad_norm)
                scaler.step(optimizer)
                scaler.update()
                scheduler.step()
                model.zero_grad()
                global_step += 1
                epoch_iterator.set_postfix(loss=(tr_loss - logging_loss))
                logging_loss = tr_loss
    return global_step, tr_loss / global_step


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default=None, type=str, required=True)
    parser.add_argument("--batch-size", default=4, type=int)
    parser.add_argument("--seq-len", default=512, type=int)
    parser.add_argument("--learning_rate", default=5e-5, type=float)
    parser.add_argument("--adam_epsilon", default=1e-8, type=float)
    parser.add_argument("--max_grad_norm", default=1.0, type=float)
    parser.add_argument("--num_train_epochs", default=2.0, type=float)
    parser.add_argument("--gradient_accumulation_steps", default=2, type=int)
    args = parser.parse_args()
    args.device = torch.device("cuda")

    config = AutoConfig.from_pretrained(args.config)
    model = AutoModelForCausalLM.from_config(config)
    model.to(args.device)
    train_dataset = TensorDataset(torch.randint(config.vocab_size, (args.batch_size * 6, args.seq_len)))
    global_step, tr_loss = train(args, train_dataset, model)
    print(" global_step = %s, average loss = %s" % (global_step, tr_loss))


if __name__ == "__main__":
    main()
