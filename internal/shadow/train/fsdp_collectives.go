// SPDX-License-Identifier: Apache-2.0

package train

import (
	"snug/internal/kernel"
	"snug/internal/shadow"
)

// The allocations of FSDP2's collectives (_fsdp_collectives.py, 2.11).

// unshard starts gathering a group: its shards, cast if necessary, are copied into one flat tensor, to which the
// other processes add theirs.
func (g *shardGroup) unshard() {
	f, w := g.f, g.f.w
	if g.result != nil || g.unsharded {
		return
	}
	if f.how.World == 1 {
		g.result = w.Empty(shadow.Dims(0), shadow.Float32).Hold()
		return
	}
	cast, bytes := 0, 0
	for _, p := range g.params {
		n := p.shard.Numel() * int(p.full.DType().Bytes())
		bytes += n
		if p.full.DType() != p.shard.DType() {
			cast += n
		}
	}
	w.OnQueue(f.copyIn, shadow.Parameters, func() {
		w.Op("all_gather")
		input := w.Empty(shadow.Dims(cast), shadow.UInt8).Hold()
		g.result = w.Empty(shadow.Dims(bytes*f.how.World), shadow.UInt8).Hold()
		input.Drop()
	})
	w.Gather(uint64(bytes*f.how.World), f.how.World)
}

// copyOut completes the gather: each parameter gets its memory, and the flat tensor is split among them. In
// forward the flat tensor is kept until the next group's copy-out, so that one can be filled while the other is
// read.
func (g *shardGroup) copyOut() {
	f, w := g.f, g.f.w
	if g.result == nil {
		return
	}
	var before *shadow.Tensor
	if g.state == inForward {
		before, f.gathered = f.gathered, nil
	}
	w.Op("all_gather_copy_out")
	chunks := make([]int, len(g.params))
	for i, p := range g.params {
		p.full.ResizeStorage(p.shard.Numel() * f.how.World)
		chunks[i] = p.shard.Numel() * int(p.full.DType().Bytes())
	}
	if f.how.World > 1 {
		w.Gathered()
		w.Copy(g.result.Bytes())
		splitWithSizesCopy(w, chunks, f.how.World)
	}
	g.unsharded = true
	if g.state == inForward {
		f.gathered = g.result
	} else {
		g.result.Drop()
	}
	g.result = nil
	before.Drop()
}

// reshard frees the memory of the group's parameters.
func (g *shardGroup) reshard() {
	if !g.unsharded {
		return
	}
	g.unsharded = false
	for _, p := range g.params {
		p.full.FreeStorage()
	}
}

// reduce is foreach_reduce: gradients are copied process by process into one flat tensor, which it returns. The
// sum over all processes is scattered to the shards, whose gradients are views of it.
func (f *FSDP) reduce(params []shardParam, grads []*shadow.Tensor) *shadow.Tensor {
	w := f.w
	dt := grads[0].DType()
	if f.how.Reduce != shadow.None {
		dt = f.how.Reduce
	}
	numel := 0
	chunks := make([]int, len(params))
	for i, p := range params {
		numel += p.shard.Numel()
		chunks[i] = p.shard.Numel() * int(dt.Bytes())
	}
	w.Op("reduce_scatter")
	input := f.scatterInput(numel*f.how.World, dt)
	chunkCat(w, chunks)
	w.Copy(input.Bytes())
	w.ReduceScatter(input.Bytes(), f.how.World)
	last := len(grads) - 1 // a loop variable still refers to the last gradient
	dropList(grads[:last])
	w.OnQueue(f.scatter, shadow.Gradients, func() {
		output := w.Empty(shadow.Dims(numel), dt).Hold()
		if orig := params[0].shard.DType(); orig != dt {
			output = shadow.Replace(output, w.Empty(shadow.Dims(numel), orig))
		}
		for _, p := range params {
			if p.shard.Grad() == nil {
				p.shard.LayGradInto(output)
			}
		}
		output.Drop()
	})
	grads[last].Drop()
	return input
}

// scatterInput allocates the flat tensor for the gradients.
func (f *FSDP) scatterInput(numel int, dt shadow.DType) *shadow.Tensor {
	defer f.w.As(shadow.Gradients)()
	return f.w.Empty(shadow.Dims(numel), dt).Hold()
}

// splitWithSizesCopy is split_with_sizes_copy of rows into chunks of the given sizes in bytes.
func splitWithSizesCopy(w *shadow.World, chunks []int, rows int) {
	w.Op("split_with_sizes_copy")
	w.Scratch(w.Rules.SplitWithSizes(chunks, rows))
}

// chunkCat is _chunk_cat of tensors with chunks of the given sizes in bytes.
func chunkCat(w *shadow.World, chunks []int) {
	w.Op("_chunk_cat")
	w.Scratch(kernel.ChunkCat(chunks))
}
