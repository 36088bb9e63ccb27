import argparse, os, json, random
import torch
from torch.utils.data import DataLoader, Dataset, RandomSampler, SequentialSampler
from transformers import AutoConfig, AutoModelForCausalLM, get_linear_schedule_with_warmup

class TextBlocks(Dataset):
    def __init__(self, n, block_size, vocab):
        self.examples = [torch.randint(0, vocab, (block_size,)).tolist() for _ in range(n)]
    def __len__(self):
        return len(self.examples)
    def __getitem__(self, item):
        return torch.tensor(self.examples[item], dtype=torch.long)

def train(args, train_dataset, eval_dataset, model):
    train_sampler = RandomSampler(train_dataset)
    train_dataloader = DataLoader(train_dataset, sampler=train_sampler, batch_size=args.train_batch_size)
    t_total = len(train_dataloader) // args.gradient_accumulation_steps * args.num_train_epochs
    no_decay = ["bias", "LayerNorm.weight"]
    optimizer_grouped_parameters = [
        {"params": [p for n, p in model.named_parameters() if not any(nd in n for nd in no_decay)], "weight_decay": args.weight_decay},
        {"params": [p for n, p in model.named_parameters() if any(nd in n for nd in no_decay)], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(optimizer_grouped_parameters, lr=args.learning_rate, eps=1e-8)
    scheduler = get_linear_schedule_with_warmup(optimizer, num_warmup_steps=0, num_training_steps=t_total)
    global_step = 0
    tr_loss, logging_loss = 0.0, 0.0
    model.zero_grad()
    for epoch in range(int(args.num_train_epochs)):
        for step, batch in enumerate(train_dataloader):
            inputs, labels = (batch, batch)
            inputs = inputs.to(args.device)
            labels = labels.to(args.device)
            model.train()
            outputs = model(inputs, labels=labels)
            loss = outputs[0]
            if args.gradient_accumulation_steps > 1:
                loss = loss / args.gradient_accumulation_steps
            loss.backward()
            tr_loss += loss.item()
            if (step + 1) % args.gradient_accumulation_steps == 0:
                torch.nn.utils.clip_grad_norm_(model.parameters(), args.max_grad_norm)
                optimizer.step()
                scheduler.step()
                model.zero_grad()
                global_step += 1
                if args.logging_steps > 0 and global_step % args.logging_steps == 0:
                    results = evaluate(args, eval_dataset, model)
                    for key, value in results.items():
                        print("eval_{}".format(key), value, global_step)
                    logging_loss = tr_loss
                if args.save_steps > 0 and global_step % args.save_steps == 0:
                    out = os.path.join(args.output_dir, 'checkpoint-{}'.format(global_step))
                    os.makedirs(out, exist_ok=True)
                    model_to_save = model.module if hasattr(model, 'module') else model
                    torch.save(model_to_save.state_dict(), os.path.join(out, "model.bin"))
                    torch.save(optimizer.state_dict(), os.path.join(out, "optimizer.pt"))
    return global_step, tr_loss / global_step

def evaluate(args, eval_dataset, model, prefix=""):
    eval_dataloader = DataLoader(eval_dataset, sampler=SequentialSampler(eval_dataset), batch_size=args.eval_batch_size)
    eval_loss = 0.0
    nb_eval_steps = 0
    model.eval()
    for batch in eval_dataloader:
        batch = batch.to(args.device)
        with torch.no_grad():
            outputs = model(batch, labels=batch)
            lm_loss = outputs[0]
            eval_loss += lm_loss.mean().item()
        nb_eval_steps += 1
    eval_loss = eval_loss / nb_eval_steps
    perplexity = torch.exp(torch.tensor(eval_loss))
    return {"perplexity": perplexity}

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config_name", type=str, required=True)
    parser.add_argument("--output_dir", default="out", type=str)
    parser.add_argument("--block_size", default=256, type=int)
    parser.add_argument("--train_batch_size", default=4, type=int)
    parser.add_argument("--eval_batch_size", default=8, type=int)
    parser.add_argument('--gradient_accumulation_steps', type=int, default=2)
    parser.add_argument("--learning_rate", default=5e-5, type=float)
    parser.add_argument("--weight_decay", default=0.0, type=float)
    parser.add_argument("--max_grad_norm", default=1.0, type=float)
    parser.add_argument("--num_train_epochs", default=1.0, type=float)
    parser.add_argument('--logging_steps', type=int, default=2)
    parser.add_argument('--save_steps', type=int, default=3)
    args = parser.parse_args()
    args.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    config = AutoConfig.from_pretrained(args.config_name)
    model = AutoModelForCausalLM.from_config(config)
    model.to(args.device)
    train_dataset = TextBlocks(args.train_batch_size * 8, args.block_size, config.vocab_size)
    eval_dataset = TextBlocks(args.eval_batch_size * 2, args.block_size, config.vocab_size)
    print(train(args, train_dataset, eval_dataset, model))

if __name__ == "__main__":
    main()
