import torch
from net import Decoder

model = Decoder(vocab=32000).cuda().eval()
graphs = {}
with torch.no_grad():
    for length in range(128, 4096, 128):
        ids = torch.zeros(8, length, dtype=torch.long, device="cuda")
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            model(ids)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = model(ids)
        graphs[length] = graph, ids, out
        print("captured", length)
