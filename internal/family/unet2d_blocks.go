// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// The blocks of diffusers' U-Nets and autoencoders: diffusers/models/unets/unet_2d_blocks.py, resnet.py, attention.py
// and attention_processor.py, 0.42.

// unetBlock is CrossAttnDownBlock2D, DownBlock2D, CrossAttnUpBlock2D, UpBlock2D or UNetMidBlock2DCrossAttn.
type unetBlock struct {
	shadow.Path
	m          *unet2D
	attentions []*transformer2D // one for each resnet, or none; one less than resnets in the middle block
	resnets    []*resnetBlock2D
	sampler    *nn.Conv2d // halves or doubles the image; nil in the last block
}

func (k *unetBlock) attend(b *nn.Builder, size unetSizes, heads, width, depth, count int) {
	for i := range count {
		k.attentions = append(k.attentions, newTransformer2D(b, k.m, fmt.Sprintf("%s.attentions.%d", k.At(), i), size, heads, width, depth))
	}
}

func (k *unetBlock) addResnet(b *nn.Builder, size unetSizes, in, out int) {
	at := fmt.Sprintf("%s.resnets.%d", k.At(), len(k.resnets))
	k.resnets = append(k.resnets, newResnetBlock2D(b, at, k.m, size.groups, in, out, size.temb))
}

// goDown is forward of a down block. It returns the result, and the states that the up blocks use.
func (k *unetBlock) goDown(hidden *shadow.Tensor) (*shadow.Tensor, tensors) {
	w := hidden.World()
	fn := w.Func(hidden)
	var states tensors
	for i, r := range k.resnets {
		fn.Set(&hidden, k.m.resnet(r, hidden))
		if k.attentions != nil {
			fn.Set(&hidden, w.Call(k.attentions[i], hidden))
		}
		states = append(states, hidden.Hold())
	}
	if k.sampler != nil {
		fn.Set(&hidden, w.Call(k.sampler, hidden))
		states = append(states, hidden.Hold())
	}
	return fn.Return(hidden), states
}

// through is forward of the middle block.
func (k *unetBlock) through(hidden *shadow.Tensor) *shadow.Tensor {
	w := hidden.World()
	fn := w.Func(hidden)
	fn.Set(&hidden, w.Call(k.resnets[0], hidden))
	for i, a := range k.attentions {
		fn.Set(&hidden, w.Call(a, hidden))
		fn.Set(&hidden, k.m.resnet(k.resnets[i+1], hidden))
	}
	return fn.Return(hidden)
}

// goUp is forward of an up block. res are states of the down blocks, used from the last to the first; the caller holds
// them.
func (k *unetBlock) goUp(hidden *shadow.Tensor, res tensors, height, width int) *shadow.Tensor {
	w := hidden.World()
	fn := w.Func(hidden)
	for i, r := range k.resnets {
		fn.Set(&hidden, shadow.Cat(1, hidden, res[len(res)-1-i]))
		fn.Set(&hidden, k.m.resnet(r, hidden))
		if k.attentions != nil {
			fn.Set(&hidden, w.Call(k.attentions[i], hidden))
		}
	}
	if k.sampler != nil { // Upsample2D
		up := w.Func(hidden)
		x := hidden
		up.Set(&x, x.UpsampleNearest(height, width))
		up.Set(&x, w.Call(k.sampler, x))
		fn.Set(&hidden, up.Return(x))
	}
	return fn.Return(hidden)
}

// resnet runs a resnet, checkpointed if checkpointing is on.
func (m *unet2D) resnet(r *resnetBlock2D, x *shadow.Tensor) *shadow.Tensor {
	if !m.checkpoints() {
		return m.w.CallWith(r, x, []*shadow.Tensor{m.temb})
	}
	return m.w.Checkpoint(false, x, func(x *shadow.Tensor) *shadow.Tensor { return m.w.Call(r, x) }, m.temb)
}

// resnetBlock2D is ResnetBlock2D.
type resnetBlock2D struct {
	shadow.Path
	m            *unet2D // nil in an autoencoder, which has no time steps
	norm1, norm2 *nn.GroupNorm
	conv1, conv2 *nn.Conv2d
	timeProj     *nn.Linear // time_emb_proj
	shortcut     *nn.Conv2d // nil if the number of channels does not change
}

func newResnetBlock2D(b *nn.Builder, at string, m *unet2D, groups, in, out, temb int) *resnetBlock2D {
	r := &resnetBlock2D{Path: shadow.Path(at), m: m}
	same := shadow.Conv{Stride: 1, Padding: 1, Groups: 1}
	r.norm1 = b.GroupNorm(at+".norm1", groups, in)
	r.conv1 = b.Conv2d(at+".conv1", in, out, 3, same, true)
	if m != nil {
		r.timeProj = b.Linear(at+".time_emb_proj", temb, out, true)
	}
	r.norm2 = b.GroupNorm(at+".norm2", groups, out)
	r.conv2 = b.Conv2d(at+".conv2", out, out, 3, same, true)
	if in != out {
		r.shortcut = b.Conv2d(at+".conv_shortcut", in, out, 1, shadow.Conv{Stride: 1, Groups: 1}, true)
	}
	return r
}

func (r *resnetBlock2D) Forward(fn *shadow.Frame, input *shadow.Tensor) *shadow.Tensor {
	w := input.World()
	hidden := fn.Let(input)
	fn.Set(&hidden, w.Call(r.norm1, hidden))
	fn.Set(&hidden, hidden.SiLU())
	fn.Set(&hidden, w.Call(r.conv1, hidden))
	if r.m != nil {
		temb := fn.Let(r.m.temb.SiLU())
		fn.Set(&temb, r.timeProj.Call(temb).Unsqueeze(2).Unsqueeze(3)) // (B, out, 1, 1)
		fn.Set(&hidden, hidden.Add(temb))
	}
	fn.Set(&hidden, w.Call(r.norm2, hidden))
	fn.Set(&hidden, hidden.SiLU())
	fn.Set(&hidden, w.Call(r.conv2, hidden))
	if r.shortcut != nil {
		if r.m != nil { // in training only
			fn.Set(&input, input.Contiguous())
		}
		fn.Set(&input, w.Call(r.shortcut, input))
	}
	return fn.Let(input.Add(hidden).DivScalar())
}

// transformer2D is Transformer2DModel over the pixels of an image.
type transformer2D struct {
	shadow.Path
	m               *unet2D
	norm            *nn.GroupNorm
	convIn, convOut *nn.Conv2d // proj_in and proj_out, or
	projIn, projOut *nn.Linear
	blocks          []*basicTransformer
	width           int
}

func newTransformer2D(b *nn.Builder, m *unet2D, at string, size unetSizes, heads, width, depth int) *transformer2D {
	t := &transformer2D{Path: shadow.Path(at), m: m, width: width}
	t.norm = b.GroupNorm(at+".norm", size.groups, width)
	if size.linear {
		t.projIn = b.Linear(at+".proj_in", width, width, true)
	} else {
		t.convIn = b.Conv2d(at+".proj_in", width, width, 1, shadow.Conv{Stride: 1, Groups: 1}, true)
	}
	for i := range depth {
		t.blocks = append(t.blocks, newBasicTransformer(b, m, fmt.Sprintf("%s.transformer_blocks.%d", at, i), size.text, heads, width))
	}
	if size.linear {
		t.projOut = b.Linear(at+".proj_out", width, width, true)
	} else {
		t.convOut = b.Conv2d(at+".proj_out", width, width, 1, shadow.Conv{Stride: 1, Groups: 1}, true)
	}
	return t
}

func (t *transformer2D) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	m, w := t.m, hidden.World()
	residual := fn.Let(hidden)
	B, H, W := hidden.Size(0), hidden.Size(2), hidden.Size(3)
	fn.Set(&hidden, t.flatten(hidden)) // (B, H*W, C)
	for _, k := range t.blocks {
		if !m.checkpoints() {
			fn.Set(&hidden, w.CallWith(k, hidden, []*shadow.Tensor{m.textEmbeddings}))
			continue
		}
		fn.Set(&hidden, w.Checkpoint(false, hidden, func(x *shadow.Tensor) *shadow.Tensor { return w.Call(k, x) }, m.textEmbeddings))
	}
	out := w.Func(hidden, residual) // _get_output_for_continuous_inputs
	image := hidden
	if t.projOut != nil {
		out.Set(&image, t.projOut.Call(image))
		out.Set(&image, image.Reshape(B, H, W, t.width).Permute(0, 3, 1, 2).Contiguous())
	} else {
		out.Set(&image, image.Reshape(B, H, W, t.width).Permute(0, 3, 1, 2).Contiguous())
		out.Set(&image, w.Call(t.convOut, image))
	}
	return fn.Let(out.Return(image.Add(residual)))
}

// flatten is _operate_on_continuous_inputs.
func (t *transformer2D) flatten(hidden *shadow.Tensor) *shadow.Tensor {
	w := hidden.World()
	fn := w.Func(hidden)
	B, pixels := hidden.Size(0), hidden.Size(2)*hidden.Size(3)
	fn.Set(&hidden, w.Call(t.norm, hidden))
	if t.projIn == nil {
		fn.Set(&hidden, w.Call(t.convIn, hidden))
	}
	fn.Set(&hidden, hidden.Permute(0, 2, 3, 1).Reshape(B, pixels, t.width))
	if t.projIn != nil {
		fn.Set(&hidden, t.projIn.Call(hidden))
	}
	return fn.Return(hidden)
}

// basicTransformer is BasicTransformerBlock: attention among pixels, attention to the text, and a feed-forward layer.
type basicTransformer struct {
	shadow.Path
	m                   *unet2D
	norm1, norm2, norm3 *nn.LayerNorm
	attn1, attn2        *crossAttention
	ff                  *gegluFeedForward
}

func newBasicTransformer(b *nn.Builder, m *unet2D, at string, text, heads, width int) *basicTransformer {
	k := &basicTransformer{Path: shadow.Path(at), m: m}
	k.norm1 = b.LayerNorm(at+".norm1", width, true)
	k.attn1 = newCrossAttention(b, at+".attn1", width, width, heads, false)
	k.norm2 = b.LayerNorm(at+".norm2", width, true)
	k.attn2 = newCrossAttention(b, at+".attn2", width, text, heads, false)
	k.norm3 = b.LayerNorm(at+".norm3", width, true)
	k.ff = &gegluFeedForward{
		Path: shadow.Path(at + ".ff"), proj: b.Linear(at+".ff.net.0.proj", width, 8*width, true), out: b.Linear(at+".ff.net.2", 4*width, width, true),
	}
	return k
}

func (k *basicTransformer) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	w := hidden.World()
	normed := fn.Let(k.norm1.Call(hidden))
	output := fn.Let(k.attn1.call(normed, nil))
	fn.Set(&hidden, output.Add(hidden))
	fn.Set(&normed, k.norm2.Call(hidden))
	fn.Set(&output, k.attn2.call(normed, k.m.textEmbeddings))
	fn.Set(&hidden, output.Add(hidden))
	fn.Set(&normed, k.norm3.Call(hidden))
	forward := fn.Let(w.Call(k.ff, normed))
	fn.Set(&hidden, forward.Add(hidden))
	return hidden
}

// gegluFeedForward is FeedForward with GEGLU.
type gegluFeedForward struct {
	shadow.Path
	proj, out *nn.Linear
}

func (f *gegluFeedForward) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	geglu := hidden.World().Func(hidden)
	x := hidden
	geglu.Set(&x, f.proj.Call(x))
	parts := x.Chunk(2, -1)
	gate := geglu.Let(parts[1])
	geglu.Set(&x, parts[0])
	fn.Set(&hidden, geglu.Return(x.Mul(gate.GELU())))
	fn.Set(&hidden, f.out.Call(hidden))
	return hidden
}

// crossAttention is Attention with AttnProcessor2_0.
type crossAttention struct {
	shadow.Path
	groupNorm  *nn.GroupNorm // in autoencoders, whose attention also adds its input
	q, k, v, o *nn.Linear
	heads      int
	other      *shadow.Tensor // encoder_hidden_states of the current call
}

func newCrossAttention(b *nn.Builder, at string, width, other, heads int, bias bool) *crossAttention {
	a := &crossAttention{Path: shadow.Path(at), heads: heads}
	a.q = b.Linear(at+".to_q", width, width, bias)
	a.k = b.Linear(at+".to_k", other, width, bias)
	a.v = b.Linear(at+".to_v", other, width, bias)
	a.o = b.Linear(at+".to_out.0", width, width, true)
	return a
}

// call is attn(hidden, encoder_hidden_states=other); other is nil for attention among the pixels.
func (a *crossAttention) call(hidden, other *shadow.Tensor) *shadow.Tensor {
	a.other = other
	return hidden.World().Call(a, hidden)
}

func (a *crossAttention) Forward(_ *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	w := hidden.World()
	fn := w.Func(hidden) // AttnProcessor2_0.__call__
	residual, image := fn.Let(hidden), hidden.Dim() == 4
	size := hidden.Sizes()
	if image {
		fn.Set(&hidden, hidden.View(size[0], size[1], size[2]*size[3]).Transpose(1, 2))
	}
	if a.groupNorm != nil {
		fn.Set(&hidden, w.Call(a.groupNorm, hidden.Transpose(1, 2)).Transpose(1, 2))
	}
	query := fn.Let(a.q.Call(hidden))
	other := a.other
	if other == nil {
		other = fn.Let(hidden)
	}
	key := fn.Let(a.k.Call(other))
	value := fn.Let(a.v.Call(other))
	B, dim := other.Size(0), key.Size(-1)/a.heads
	fn.Set(&query, query.View(B, -1, a.heads, dim).Transpose(1, 2)) // (B, heads, pixels, dim)
	fn.Set(&key, key.View(B, -1, a.heads, dim).Transpose(1, 2))
	fn.Set(&value, value.View(B, -1, a.heads, dim).Transpose(1, 2))
	fn.Set(&hidden, w.SDPA(shadow.Attention{Query: query, Key: key, Value: value}))
	fn.Set(&hidden, hidden.Transpose(1, 2).Reshape(B, -1, a.heads*dim))
	fn.Set(&hidden, hidden.To(query.DType()))
	fn.Set(&hidden, a.o.Call(hidden))
	if image {
		fn.Set(&hidden, hidden.Transpose(-1, -2).Reshape(size...))
		fn.Set(&hidden, hidden.Add(residual))
	}
	fn.Set(&hidden, hidden.DivScalar())
	return fn.Return(hidden)
}
