"""Models with an encoder and a decoder on padded texts; T5 gets its decoder's input from the program."""
import sys

import torch
from transformers import BartConfig, BartForConditionalGeneration, T5Config, T5ForConditionalGeneration

if sys.argv[1] == "t5":
    model = T5ForConditionalGeneration(T5Config(vocab_size=8000, d_model=256, d_kv=64, d_ff=512, num_layers=3, num_heads=4, feed_forward_proj="gated-gelu",
                                                tie_word_embeddings=False, decoder_start_token_id=0)).cuda()
else:
    model = BartForConditionalGeneration(BartConfig(vocab_size=8000, d_model=256, encoder_layers=3, decoder_layers=3, encoder_attention_heads=4,
                                                    decoder_attention_heads=4, encoder_ffn_dim=512, decoder_ffn_dim=512)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
loss_fn = torch.nn.CrossEntropyLoss(ignore_index=-100, label_smoothing=0.1)
model.train()
for step in range(4):
    ids = torch.randint(3, 8000, (8, 256))
    mask = torch.ones_like(ids)
    mask[0, 200:] = 0
    ids, mask, labels = ids.cuda(), mask.cuda(), torch.randint(3, 8000, (8, 64)).cuda()
    if sys.argv[1] == "t5":
        logits = model(input_ids=ids, attention_mask=mask, decoder_input_ids=model._shift_right(labels)).logits
        loss = loss_fn(logits.reshape(-1, logits.size(-1)), labels.reshape(-1))
    else:
        loss = model(input_ids=ids, attention_mask=mask, labels=labels).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
