from transformers import GPT2Config, GPT2LMHeadModel

config = GPT2Config(n_layer=12, n_embd=2048, n_head=16)
model = GPT2LMHeadModel(config)
print("parameters: %.2f B" % (sum(p.numel() for p in model.parameters()) / 1e9))
model.to("cuda")
