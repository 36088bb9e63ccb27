// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// The U-Net of Stable Diffusion: diffusers/models/unets/unet_2d_condition.py, 0.42. Its blocks are in
// unet2d_blocks.go.

// unet2D is UNet2DConditionModel.
type unet2D struct {
	net
	at                   string // path of the model
	convIn               *nn.Conv2d
	linear1, linear2     *nn.Linear // time_embedding
	down, up             []*unetBlock
	mid                  *unetBlock
	normOut              *nn.GroupNorm
	convOut              *nn.Conv2d
	channels, timeWidth  int
	temb, textEmbeddings *shadow.Tensor // arguments of the call that all blocks get
}

// unetSizes are the sizes that a U-Net's blocks share.
type unetSizes struct {
	temb, groups, text int
	linear             bool // projections are linear layers, not convolutions
}

func newUNet2D(b *nn.Builder, c *Config, run Run, at string) *unet2D {
	c.refuseUNet()
	m := &unet2D{net: net{b.W, run}, at: at, channels: c.Positive("in_channels", 4)}
	widths := c.Ints("block_out_channels")
	if widths == nil {
		widths = []int{320, 640, 1280, 1280}
	}
	n, first := len(widths), widths[0]
	size := unetSizes{temb: 4 * first, groups: c.Positive("norm_num_groups", 32), text: c.Positive("cross_attention_dim", 1280), linear: c.Bool("use_linear_projection", false)}
	m.timeWidth = first
	m.convIn = b.Conv2d("conv_in", m.channels, first, 3, shadow.Conv{Stride: 1, Padding: 1, Groups: 1}, true)
	m.linear1 = b.Linear("time_embedding.linear_1", first, size.temb, true)
	m.linear2 = b.Linear("time_embedding.linear_2", size.temb, size.temb, true)
	heads, layers := c.perBlock("attention_head_dim", 8, n), c.perBlock("layers_per_block", 2, n)
	if c.Has("num_attention_heads") {
		heads = c.perBlock("num_attention_heads", 8, n)
	}
	depths := c.perBlock("transformer_layers_per_block", 1, n)
	m.addDown(b, c, size, widths, heads, layers, depths)
	m.addUp(b, c, size, widths, heads, layers, depths)
	m.mid = &unetBlock{Path: "mid_block", m: m}
	m.mid.attend(b, size, heads[n-1], widths[n-1], depths[n-1], 1)
	m.mid.addResnet(b, size, widths[n-1], widths[n-1])
	m.mid.addResnet(b, size, widths[n-1], widths[n-1])
	m.normOut = b.GroupNorm("conv_norm_out", size.groups, first)
	m.convOut = b.Conv2d("conv_out", first, c.Positive("out_channels", 4), 3, shadow.Conv{Stride: 1, Padding: 1, Groups: 1}, true)
	return m
}

// addDown makes the down blocks; all but the last halve the image.
func (m *unet2D) addDown(b *nn.Builder, c *Config, size unetSizes, widths, heads, layers, depths []int) {
	types := c.blockTypes("down_block_types", len(widths), "CrossAttnDownBlock2D", "DownBlock2D")
	in := widths[0]
	for i, out := range widths {
		k := &unetBlock{Path: shadow.Path(fmt.Sprintf("down_blocks.%d", i)), m: m}
		if types[i] == "CrossAttnDownBlock2D" {
			k.attend(b, size, heads[i], out, depths[i], layers[i])
		}
		for range layers[i] {
			k.addResnet(b, size, in, out)
			in = out
		}
		if i < len(widths)-1 {
			k.sampler = b.Conv2d(k.At()+".downsamplers.0.conv", out, out, 3, shadow.Conv{Stride: 2, Padding: 1, Groups: 1}, true)
		}
		m.down = append(m.down, k)
	}
}

// addUp makes the up blocks; all but the last double the image. Each resnet also gets the output of a down block.
func (m *unet2D) addUp(b *nn.Builder, c *Config, size unetSizes, widths, heads, layers, depths []int) {
	n := len(widths)
	types := c.blockTypes("up_block_types", n, "CrossAttnUpBlock2D", "UpBlock2D")
	before := widths[n-1]
	for i := range widths {
		j := n - 1 - i // the down block of the same size
		out, skip := widths[j], widths[max(j-1, 0)]
		k := &unetBlock{Path: shadow.Path(fmt.Sprintf("up_blocks.%d", i)), m: m}
		if types[i] == "CrossAttnUpBlock2D" {
			k.attend(b, size, heads[j], out, depths[j], layers[j]+1)
		}
		for l := range layers[j] + 1 {
			side := out
			if l == layers[j] {
				side = skip
			}
			k.addResnet(b, size, before+side, out)
			before = out
		}
		if i < n-1 {
			k.sampler = b.Conv2d(k.At()+".upsamplers.0.conv", out, out, 3, shadow.Conv{Stride: 1, Padding: 1, Groups: 1}, true)
		}
		m.up = append(m.up, k)
	}
}

// At returns the model's path.
func (m *unet2D) At() string { return m.at }

// call is unet(sample, timesteps, encoder_hidden_states, return_dict=False)[0].
func (m *unet2D) call(sample, timesteps, text *shadow.Tensor) *shadow.Tensor {
	fn := m.w.Func(sample, timesteps, text)
	t := fn.Let(m.timeEmbedding(timesteps, sample.DType())) // (B, first width)
	emb := fn.Let(m.embedTime(t))
	m.temb, m.textEmbeddings = emb, text
	fn.Set(&sample, m.w.Call(m.convIn, sample))
	all, res := m.goDown(fn, &sample)
	fn.Set(&sample, m.mid.through(sample))
	for _, t := range m.goUp(fn, &sample, all, res) {
		fn.Let(t).Drop() // a variable holds the last block's until forward returns
	}
	fn.Set(&sample, m.w.Call(m.normOut, sample))
	fn.Set(&sample, sample.SiLU())
	fn.Set(&sample, m.w.Call(m.convOut, sample))
	return fn.Return(sample)
}

// goDown runs the down blocks. It returns all outputs, which the up blocks use, and those of the last block, which a
// variable also holds.
func (m *unet2D) goDown(fn *shadow.Frame, sample **shadow.Tensor) (all, res tensors) {
	all = tensors{(*sample).Hold()}
	for _, k := range m.down {
		out, states := k.goDown(*sample)
		fn.Set(sample, out)
		res.drop()
		res = states
		all = append(all, res.hold()...)
	}
	return all, res
}

// goUp runs the up blocks, each with the last remaining outputs of the down blocks. It returns the outputs that the
// last block used.
func (m *unet2D) goUp(fn *shadow.Frame, sample **shadow.Tensor, all, res tensors) tensors {
	factor, sized := 1<<(len(m.up)-1), false
	for _, side := range []int{m.side(all, 2), m.side(all, 3)} {
		sized = sized || side%factor != 0
	}
	for i, k := range m.up {
		from := len(all) - len(k.resnets)
		res.drop()
		res, all = all[from:], all[:from]
		height, width := 2*(*sample).Size(2), 2*(*sample).Size(3)
		if sized && i < len(m.up)-1 {
			height, width = m.side(all[len(all)-1:], 2), m.side(all[len(all)-1:], 3)
		}
		fn.Set(sample, k.goUp(*sample, res, height, width))
	}
	return res
}

// side returns the height (2) or width (3) of the first tensor's images.
func (m *unet2D) side(images tensors, dim int) int { return images[0].Size(dim) }

// tensors are the elements of a Python tuple, which holds each of them.
type tensors []*shadow.Tensor

func (t tensors) hold() tensors {
	for _, x := range t {
		x.Hold()
	}
	return t
}

func (t tensors) drop() {
	for _, x := range t {
		x.Drop()
	}
}

// timeEmbedding is get_time_embed: sines and cosines of the time steps, in the sample's type.
func (m *unet2D) timeEmbedding(timesteps *shadow.Tensor, dt shadow.DType) *shadow.Tensor {
	fn := m.w.Func(timesteps)
	fn.Set(&timesteps, timesteps.Expand(timesteps.Size(0)))
	t := fn.Let(sinusoidal(timesteps, m.timeWidth))
	fn.Set(&t, t.To(dt))
	return fn.Return(t)
}

// sinusoidal is get_timestep_embedding with flip_sin_to_cos.
func sinusoidal(timesteps *shadow.Tensor, width int) *shadow.Tensor {
	w, half := timesteps.World(), width/2
	fn := w.Func(timesteps)
	w.Op("arange")
	exponent := fn.Let(w.Empty(shadow.Dims(half), shadow.Float32).MulScalar())
	fn.Set(&exponent, exponent.DivScalar())
	emb := fn.Let(exponent.Exp())
	fn.Set(&emb, timesteps.Unsqueeze(1).Float().Mul(emb.Unsqueeze(0))) // (B, half)
	fn.Set(&emb, emb.MulScalar())
	fn.Set(&emb, shadow.Cat(-1, emb.Sin(), emb.Cos()))
	fn.Set(&emb, shadow.Cat(-1, emb.Slice(1, half, 2*half), emb.Slice(1, 0, half)))
	return fn.Return(emb)
}

// embedTime is TimestepEmbedding.forward.
func (m *unet2D) embedTime(t *shadow.Tensor) *shadow.Tensor {
	fn := m.w.Func(t)
	fn.Set(&t, m.linear1.Call(t))
	fn.Set(&t, t.SiLU())
	fn.Set(&t, m.linear2.Call(t))
	return fn.Return(t)
}

// perBlock reads a number for all blocks, or a list with one for each.
func (c *Config) perBlock(key string, def, n int) []int {
	if _, list := c.keys[key].([]any); list {
		if out := c.Ints(key); len(out) == n {
			return out
		}
		c.fail(key, fmt.Sprintf("a number, or a list of %d", n))
	}
	out := make([]int, n)
	for i := range out {
		out[i] = max(c.Int(key, def), 1)
	}
	return out
}

// blockTypes reads the list of block types. By default, all blocks attend except the last down block and the first up
// block.
func (c *Config) blockTypes(key string, n int, attends, plain string) []string {
	types := c.Strings(key)
	if types == nil {
		for i := range n {
			last := i == n-1 && key == "down_block_types" || i == 0 && key == "up_block_types"
			if last {
				types = append(types, plain)
			} else {
				types = append(types, attends)
			}
		}
	}
	for _, t := range types {
		if t != attends && t != plain {
			c.fail(key, fmt.Sprintf("a list of %s and %s; others are not simulated", attends, plain))
		}
	}
	if len(types) != n {
		c.fail(key, fmt.Sprintf("a list of %d", n))
		return make([]string, n)
	}
	return types
}

// refuseUNet refuses config values that change the model in ways that are not simulated.
func (c *Config) refuseUNet() {
	for _, key := range []string{"center_input_sample", "only_cross_attention", "dual_cross_attention", "class_embeddings_concat", "resnet_skip_time_act"} {
		c.refuse(key)
	}
	for _, key := range []string{"encoder_hid_dim", "encoder_hid_dim_type", "class_embed_type", "addition_embed_type", "num_class_embeds", "time_embedding_dim",
		"time_embedding_act_fn", "timestep_post_act", "time_cond_proj_dim", "cross_attention_norm", "reverse_transformer_layers_per_block"} {
		if c.Has(key) {
			c.fail(key, "null, because its effect is not simulated")
		}
	}
	for key, want := range map[string]string{"act_fn": "silu", "mid_block_type": "UNetMidBlock2DCrossAttn", "resnet_time_scale_shift": "default", "time_embedding_type": "positional", "attention_type": "default"} {
		if c.String(key, want) != want {
			c.fail(key, want+"; others are not simulated")
		}
	}
	for _, key := range []string{"conv_in_kernel", "conv_out_kernel"} {
		if c.Int(key, 3) != 3 {
			c.fail(key, "3; others are not simulated")
		}
	}
	if !c.Bool("flip_sin_to_cos", true) || c.Float("dropout", 0) != 0 {
		c.fail("dropout", "0, and flip_sin_to_cos true; others are not simulated")
	}
}
