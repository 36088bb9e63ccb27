// SPDX-License-Identifier: Apache-2.0

package shadow

import "snug/internal/kernel"

// What FSDP2's collectives allocate (_fsdp_collectives.py, 2.11).

// unshard begins to gather a group: its shards, cast where they have to be, are
// copied into one flat tensor that the other processes' fill up.
func (g *shardGroup) unshard() {
	f, w := g.f, g.f.w
	if g.result != nil || g.unsharded {
		return
	}
	if f.how.World == 1 {
		g.result = w.empty(Dims(0), Float32).hold()
		return
	}
	cast, bytes := 0, 0
	for _, p := range g.params {
		n := p.shard.Numel() * int(p.full.dtype.Bytes())
		bytes += n
		if p.full.dtype != p.shard.dtype {
			cast += n
		}
	}
	w.onQueue(f.copyIn, Parameters, func() {
		w.op("all_gather")
		input := w.empty(Dims(cast), UInt8).hold()
		g.result = w.empty(Dims(bytes*f.how.World), UInt8).hold()
		input.drop()
	})
}

// copyOut ends it: each parameter gets its memory, and the flat tensor is split
// over them. In forward the flat tensor stays until the next group's copy-out,
// so that one can be filled while the other is read.
func (g *shardGroup) copyOut() {
	f, w := g.f, g.f.w
	if g.result == nil {
		return
	}
	var before *Tensor
	if g.state == inForward {
		before, f.gathered = f.gathered, nil
	}
	w.op("all_gather_copy_out")
	chunks := make([]int, len(g.params))
	for i, p := range g.params {
		p.full.refill(p.shard.Numel() * f.how.World)
		chunks[i] = p.shard.Numel() * int(p.full.dtype.Bytes())
	}
	if f.how.World > 1 {
		w.splitWithSizesCopy(chunks, f.how.World)
	}
	g.unsharded = true
	if g.state == inForward {
		f.gathered = g.result
	} else {
		g.result.drop()
	}
	g.result = nil
	before.drop()
}

// reshard gives the memory of the group's parameters back.
func (g *shardGroup) reshard() {
	if !g.unsharded {
		return
	}
	g.unsharded = false
	for _, p := range g.params {
		g.f.w.Trace.Free(p.full.mem.id)
	}
}

// refill is storage.resize_: memory for so many elements, behind this tensor and
// everything that shares its storage.
func (t *Tensor) refill(numel int) {
	w := t.w
	was, path := w.component, w.path
	w.component, w.path = Parameters, []string{t.name}
	m := w.alloc(uint64(numel) * t.dtype.Bytes())
	w.component, w.path = was, path
	if t.mem == nil {
		t.mem = m
	} else {
		t.mem.id = m.id
	}
}

// reduce is foreach_reduce: gradients are laid out process by process in one
// flat tensor, which is the result; the sum of all processes' is scattered to
// shards, whose gradients are views of it.
func (f *FSDP) reduce(params []shardParam, grads []*Tensor) *Tensor {
	w := f.w
	dt := grads[0].dtype
	if f.how.Reduce != None {
		dt = f.how.Reduce
	}
	numel := 0
	chunks := make([]int, len(params))
	for i, p := range params {
		numel += p.shard.Numel()
		chunks[i] = p.shard.Numel() * int(dt.Bytes())
	}
	w.op("reduce_scatter")
	var input *Tensor
	w.onQueue(w.queue, Gradients, func() { input = w.empty(Dims(numel*f.how.World), dt).hold() })
	w.chunkCat(chunks)
	last := len(grads) - 1 // a loop's variable still names it
	dropList(grads[:last])
	w.onQueue(f.scatter, Gradients, func() {
		output := w.empty(Dims(numel), dt).hold()
		if orig := params[0].shard.dtype; orig != dt {
			output = replace(output, w.empty(Dims(numel), orig))
		}
		for _, p := range params {
			if p.shard.grad == nil {
				p.shard.grad = output.alias(p.shard.size, p.shard.stride).hold()
			}
		}
		output.drop()
	})
	grads[last].drop()
	return input
}

// onQueue is with torch.cuda.stream(...), for memory of one component.
func (w *World) onQueue(queue uint16, c Component, body func()) {
	was, component := w.queue, w.component
	w.queue, w.component = queue, c
	body()
	w.queue, w.component = was, component
}

// splitWithSizesCopy is split_with_sizes_copy of rows into chunks of so many bytes.
func (w *World) splitWithSizesCopy(chunks []int, rows int) {
	w.op("split_with_sizes_copy")
	w.scratch(w.Rules.SplitWithSizes(chunks, rows))
}

// chunkCat is _chunk_cat of tensors whose chunks have so many bytes.
func (w *World) chunkCat(chunks []int) {
	w.op("_chunk_cat")
	w.scratch(kernel.ChunkCat(chunks))
}
