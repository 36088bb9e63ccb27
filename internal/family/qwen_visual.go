// SPDX-License-Identifier: Apache-2.0

package family

import (
	"cmp"
	"fmt"
	"slices"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// qwenVisual is the vision tower of Qwen2-VL and its successors. It processes the patches of all images of a batch as
// one sequence; attention stays within an image.
type qwenVisual struct {
	net
	b        *nn.Builder
	width    int // of the hidden states
	out      int // of a feature
	heads    int
	merge    int // patches along each side of a token
	depth    int
	patch    qwenPatch
	embed    *nn.Patches
	invFreq  *shadow.Tensor
	blocks   []*qwenVisionBlock
	merger   *qwenMerger
	last     *qwenDeepMerger // of Qwen3-VL, instead of merger
	deep     *qwenDeepstack  // of Qwen3-VL
	learned  *nn.Embedding   // learned positions, of Qwen3-VL
	side     int             // of the square of learned positions
	windows  *qwenWindows    // nil if every block's attention covers the whole image
	cos, sin *shadow.Tensor  // for the current forward
	cu       *shadow.Tensor  // the ends of the parts within which patches attend to each other
	lengths  []int           // their lengths
}

// qwenPatch is the part of an image at one position of the sequence: a square in each of a few frames.
type qwenPatch struct{ channels, frames, side int }

// numbers returns the number of values in a patch.
func (p qwenPatch) numbers() int { return p.channels * p.frames * p.side * p.side }

// qwenTower holds the sizes whose keys differ between generations.
type qwenTower struct {
	width, out, depth int
	patch             int  // the default of patch_size; 0 means 14
	bias              bool // the patch embedding has a bias
}

// newQwenVisual reads the tower's config and makes the modules before its blocks.
func newQwenVisual(b *nn.Builder, c *Config, run Run, t qwenTower) *qwenVisual {
	v := &qwenVisual{
		net: net{b.W, run}, b: b, width: t.width, out: t.out, depth: c.Int("depth", t.depth),
		heads: c.Positive("num_heads", 16), merge: c.Positive("spatial_merge_size", 2),
		patch: qwenPatch{c.Positive("in_channels", 3), c.Positive("temporal_patch_size", 2), c.Positive("patch_size", cmp.Or(t.patch, 14))},
	}
	v.embed = b.Patches("model.visual.patch_embed.proj", v.patch.channels, v.width, v.patch.frames, v.patch.side, t.bias)
	return v
}

// angles makes Qwen2VLVisionRotaryEmbedding: half of a head rotates by rows and half by columns.
func (v *qwenVisual) angles(b *nn.Builder, c *Config) {
	v.invFreq = b.Register(frequencies(b.W, c.HeadDim(v.width, v.heads)/2))
	b.Register(v.invFreq.Clone()) // original_inv_freq
}

// build makes the blocks and the merger, with the generation's norms and MLPs.
func (v *qwenVisual) build(b *nn.Builder, c *Config, norm, mlp func(at string) shadow.Module) {
	v.makeBlocks(b, c, norm, mlp)
	at, wide := "model.visual.merger", v.width*v.merge*v.merge
	v.merger = &qwenMerger{Path: shadow.Path(at), wide: wide, norm: norm(at + ".ln_q")}
	v.merger.mlp = &nn.Sequential{Path: shadow.Path(at + ".mlp"), List: []shadow.Module{
		b.Linear(at+".mlp.0", wide, wide, true), nn.Apply{Path: shadow.Path(at + ".mlp.1"), Run: (*shadow.Tensor).GELU}, b.Linear(at+".mlp.2", wide, v.out, true),
	}}
	frequencies(b.W, c.HeadDim(v.width, v.heads)/2).Drop() // _init_weights computes them again
}

// makeBlocks makes the rotary embedding and the blocks.
func (v *qwenVisual) makeBlocks(b *nn.Builder, c *Config, norm, mlp func(at string) shadow.Module) {
	v.angles(b, c)
	for i := range v.depth {
		at := fmt.Sprintf("model.visual.blocks.%d", i)
		l := &qwenVisionBlock{Path: shadow.Path(at), norm1: norm(at + ".norm1"), norm2: norm(at + ".norm2")}
		l.attn = &qwenVisionAttention{
			Path: shadow.Path(at + ".attn"), v: v, windowed: v.windows != nil && !slices.Contains(v.windows.full, i),
			qkv: b.Linear(at+".attn.qkv", v.width, 3*v.width, true), proj: b.Linear(at+".attn.proj", v.width, v.width, true),
		}
		l.mlp = mlp(at + ".mlp")
		v.blocks = append(v.blocks, l)
	}
}

// forward is Qwen2VisionTransformerPretrainedModel.forward: the last hidden states, and the features.
func (v *qwenVisual) forward(pixels, grid *shadow.Tensor, h, w int) (hidden, features *shadow.Tensor) {
	fn := v.w.Func(pixels, grid)
	v.w.Local(&v.cos)
	v.w.Local(&v.sin)
	v.w.Local(&v.cu)
	var indices, weights *shadow.Tensor
	if v.learned != nil {
		indices, weights = fn.Let2(v.interpolation(grid, grid.Size(0)*h*w))
		v.deep.features = nil
	}
	pos := fn.Let(v.positions(grid, h, w))
	v.cu, v.lengths = fn.Let(v.cuSeqlens(grid)), repeated(h*w, grid.Size(0))
	if v.windows != nil {
		v.windows.create(fn, v, grid.Size(0), h, w)
	}
	fn.Set(&hidden, v.w.Call(&qwenPatchEmbed{"model.visual.patch_embed", v}, pixels))
	if v.learned == nil { // get_input_embeddings finds no layer in Qwen3-VL's tower
		v.b.TowerInput(hidden)
	}
	if v.windows != nil {
		fn.Set(&hidden, v.permuted(hidden))
	}
	if v.learned != nil {
		learned := fn.Let(v.learned.Call(indices).Mul(weights.Unsqueeze(2)).Sum(false, 1))
		fn.Set(&hidden, hidden.Add(learned.To(hidden.DType())))
	}
	v.cos, v.sin = nil, nil
	cos, sin := v.rotate(pos)
	fn.Set2(&v.cos, cos, &v.sin, sin)
	if v.windows != nil {
		cos = v.permuted(v.cos)
		fn.Set2(&v.cos, cos, &v.sin, v.permuted(v.sin))
	}
	for i, l := range v.blocks {
		cu, _ := v.parts(l.attn.windowed)
		fn.Set(&hidden, v.block(l, hidden, cu, v.cos, v.sin))
		v.deep.keep(v.w, i, hidden)
	}
	if v.last != nil {
		fn.Set(&features, v.w.Call(v.last, hidden))
	} else {
		fn.Set(&features, v.w.Call(v.merger, hidden))
	}
	if v.windows != nil {
		fn.Set(&features, features.RowsByHost(features.Size(0)))
		v.windows.cu = nil
	}
	v.cu, v.cos, v.sin = nil, nil, nil
	return fn.Return2(hidden, features)
}

// parts returns the ends and lengths of the parts within which a block's attention stays.
func (v *qwenVisual) parts(windowed bool) (cu *shadow.Tensor, lengths []int) {
	if windowed {
		return v.windows.cu, v.windows.lengths
	}
	return v.cu, v.lengths
}

// repeated returns a list of n equal numbers.
func repeated(x, n int) []int { return slices.Repeat([]int{x}, n) }

// positions is get_vision_position_ids of vision_utils: the row and the column of each patch, in the order in which
// patches are merged.
func (v *qwenVisual) positions(grid *shadow.Tensor, h, w int) *shadow.Tensor {
	fn := v.w.Func(grid)
	merge := fn.Let(v.w.Full(shadow.Int64, 1).Expand(grid.Size(0)))
	shadow.Item(merge.Contiguous())
	var rows, columns *shadow.Tensor
	all := make([]*shadow.Tensor, grid.Size(0))
	for i := range all {
		r := v.w.Arange(h).Hold()
		c := v.w.Arange(w)
		fn.Set2(&rows, r.View(-1, 1).Expand(h, w), &columns, c.View(1, -1).Expand(h, w))
		r.Drop()
		fn.Set(&rows, v.merged(rows))
		fn.Set(&columns, v.merged(columns))
		all[i] = fn.Let(shadow.Stack(-1, rows, columns).Repeat(1, 1))
	}
	return fn.Return(shadow.Cat(0, all...))
}

// merged reorders one number per patch, so that the patches of a token are adjacent.
func (v *qwenVisual) merged(x *shadow.Tensor) *shadow.Tensor {
	m := v.merge
	return x.Reshape(x.Size(0)/m, m, x.Size(1)/m, m).Transpose(1, 2).Reshape(-1)
}

// cuSeqlens is get_vision_cu_seqlens.
func (v *qwenVisual) cuSeqlens(grid *shadow.Tensor) *shadow.Tensor {
	fn := v.w.Func(grid)
	n := grid.Size(0)
	seqlens := fn.Let(grid.Select(1, 1).Mul(grid.Select(1, 2)).RepeatedBy(grid.Select(1, 0), n))
	return fn.Return(seqlens.CumsumInt32().Pad(1, 0))
}

// rotate is Qwen2VLVisionRotaryEmbedding.forward.
func (v *qwenVisual) rotate(pos *shadow.Tensor) (cos, sin *shadow.Tensor) {
	fn := v.w.Func(pos)
	defer v.w.NoGrad()()
	at := fn.Let(pos.Unsqueeze(2).Float()) // (N, 2, 1)
	v.w.Autocast(shadow.None, func() {
		freqs := fn.Let(at.Mul(v.invFreq)) // (N, 2, D/4)
		fn.Set(&cos, freqs.Cos().MulScalar())
		fn.Set(&sin, freqs.Sin().MulScalar())
	})
	fn.Set(&cos, byRowAndColumn(cos))
	fn.Set(&sin, byRowAndColumn(sin))
	return fn.Return2(cos, sin)
}

// byRowAndColumn is recomposition_frequencies.
func byRowAndColumn(freq *shadow.Tensor) *shadow.Tensor {
	fn := freq.World().Func(freq)
	rows, columns := fn.Let(freq.Select(1, 0)), fn.Let(freq.Select(1, 1))
	both := fn.Let(shadow.Cat(-1, rows, columns))
	return fn.Return(shadow.Cat(-1, both, both)) // (N, D)
}

// qwenPatchEmbed is PatchEmbed.
type qwenPatchEmbed struct {
	shadow.Path
	v *qwenVisual
}

func (e *qwenPatchEmbed) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	p := e.v.patch
	fn.Set(&hidden, hidden.View(-1, p.channels, p.frames, p.side, p.side))
	return e.v.w.Call(e.v.embed, hidden.To(e.v.embed.Weight.DType())).View(-1, e.v.width)
}

// qwenVisionBlock is Qwen2VLVisionBlock.
type qwenVisionBlock struct {
	shadow.Path
	norm1, norm2 shadow.Module
	attn         *qwenVisionAttention
	mlp          shadow.Module
}

func (l *qwenVisionBlock) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	w := hidden.World()
	fn.Set(&hidden, hidden.Add(w.Call(l.attn, w.Call(l.norm1, hidden))))
	fn.Set(&hidden, hidden.Add(w.Call(l.mlp, w.Call(l.norm2, hidden))))
	return hidden
}

// qwenVisionAttention is VisionAttention.
type qwenVisionAttention struct {
	shadow.Path
	v         *qwenVisual
	windowed  bool
	qkv, proj *nn.Linear
}

func (a *qwenVisionAttention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	v, N := a.v, hidden.Size(0)
	parts := a.qkv.Call(hidden).Reshape(N, 3, v.heads, -1).Permute(1, 0, 2, 3).Unbind(0)
	query, key, value := fn.Let(parts[0]), fn.Let(parts[1]), fn.Let(parts[2]) // (N, H, D)
	q, k := rotateVision(query, key, v.cos, v.sin)
	fn.Set2(&query, q, &key, k)
	for _, x := range []**shadow.Tensor{&query, &key, &value} {
		fn.Set(x, (*x).Transpose(0, 1).Unsqueeze(0)) // (1, H, N, D)
	}
	var out *shadow.Tensor
	if v.run.Attention == "flash" {
		fn.Set(&out, v.w.FlashAttention(query, key, value, false).Transpose(1, 2))
	} else {
		fn.Set(&out, a.each(fn, query, key, value))
	}
	fn.Set(&out, out.Reshape(N, -1).Contiguous())
	fn.Set(&out, a.proj.Call(out))
	return out
}

// each attends within each part of the sequence. It runs in the frame of forward.
func (a *qwenVisionAttention) each(fn *shadow.Frame, query, key, value *shadow.Tensor) *shadow.Tensor {
	v := a.v
	cu, lengths := v.parts(a.windowed)
	n := cu.Size(0)
	fn.Let(cu.Slice(0, 1, n).Sub(cu.SliceOp(0, 0, n-1, 1))) // lengths
	split := func(x *shadow.Tensor) []*shadow.Tensor {
		parts := x.Split(2, lengths...)
		for _, p := range parts {
			fn.Let(p)
		}
		return parts
	}
	qs, ks, vs := split(query), split(key), split(value)
	outs := make([]*shadow.Tensor, len(qs))
	for i := range outs {
		out, weights := v.attention(qs[i], ks[i], vs[i], attending{})
		outs[i] = fn.Let(out)
		v.w.Func(weights).Return(nil)
	}
	return shadow.Cat(1, outs...)
}

// rotateVision is apply_rotary_pos_emb_vision, in float32.
func rotateVision(q, k, cos, sin *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	fn := q.World().Func(q, k, cos, sin)
	dt := q.DType()
	fn.Set2(&q, q.Float(), &k, k.Float())
	fn.Set(&cos, cos.Unsqueeze(-2))
	fn.Set(&sin, sin.Unsqueeze(-2))
	qe := fn.Let(q.Mul(cos).Add(rotateHalf(q).Mul(sin)))
	ke := fn.Let(k.Mul(cos).Add(rotateHalf(k).Mul(sin)))
	fn.Set(&qe, qe.To(dt))
	fn.Set(&ke, ke.To(dt))
	return fn.Return2(qe, ke)
}

// qwenMerger is PatchMerger: the patches of a token become one feature.
type qwenMerger struct {
	shadow.Path
	wide int
	norm shadow.Module
	mlp  *nn.Sequential
}

func (m *qwenMerger) Forward(fn *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	w := x.World()
	fn.Set(&x, w.Call(m.mlp, w.Call(m.norm, x).View(-1, m.wide)))
	return x
}
