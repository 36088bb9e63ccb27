// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// The autoencoder of Stable Diffusion: diffusers/models/autoencoders/autoencoder_kl.py and vae.py, 0.42. Training
// encodes images with it; its decoder is only loaded.

type autoencoderKL struct {
	w                *shadow.World
	latent           int // channels of a latent image
	factor           int // width of an image divided by the width of its latent image
	convIn, convOut  *nn.Conv2d
	down             []*encoderBlock
	mid              *encoderBlock
	normOut          *nn.GroupNorm
	quant, postQuant *nn.Conv2d // nil in some models
}

// encoderBlock is DownEncoderBlock2D, or UNetMidBlock2D if it has attention.
type encoderBlock struct {
	shadow.Path
	attention *crossAttention
	resnets   []*resnetBlock2D
	sampler   *nn.Conv2d
}

func newAutoencoderKL(b *nn.Builder, c *Config) *autoencoderKL {
	for key, only := range map[string]string{"down_block_types": "DownEncoderBlock2D", "up_block_types": "UpDecoderBlock2D"} {
		for _, t := range c.Strings(key) {
			if t != only {
				c.fail(key, "a list of "+only+"; others are not simulated")
			}
		}
	}
	if c.String("act_fn", "silu") != "silu" {
		c.fail("act_fn", "silu; others are not simulated")
	}
	widths := c.Ints("block_out_channels")
	if widths == nil {
		widths = []int{64}
	}
	m := &autoencoderKL{w: b.W, latent: c.Positive("latent_channels", 4), factor: 1 << (len(widths) - 1)}
	m.addEncoder(b, c, widths)
	m.addDecoder(b, c, widths)
	point := shadow.Conv{Stride: 1, Groups: 1}
	if c.Bool("use_quant_conv", true) {
		m.quant = b.Conv2d("quant_conv", 2*m.latent, 2*m.latent, 1, point, true)
	}
	if c.Bool("use_post_quant_conv", true) {
		m.postQuant = b.Conv2d("post_quant_conv", m.latent, m.latent, 1, point, true)
	}
	return m
}

var sameSize = shadow.Conv{Stride: 1, Padding: 1, Groups: 1}

// addEncoder makes Encoder.
func (m *autoencoderKL) addEncoder(b *nn.Builder, c *Config, widths []int) {
	groups, layers := c.Positive("norm_num_groups", 32), c.Positive("layers_per_block", 1)
	in, last := widths[0], widths[len(widths)-1]
	m.convIn = b.Conv2d("encoder.conv_in", c.Positive("in_channels", 3), in, 3, sameSize, true)
	for i, out := range widths {
		k := &encoderBlock{Path: shadow.Path(fmt.Sprintf("encoder.down_blocks.%d", i))}
		for range layers {
			k.addResnet(b, groups, in, out)
			in = out
		}
		if i < len(widths)-1 {
			k.sampler = b.Conv2d(k.At()+".downsamplers.0.conv", out, out, 3, shadow.Conv{Stride: 2, Groups: 1}, true)
		}
		m.down = append(m.down, k)
	}
	m.mid = newMidBlock(b, c, "encoder.mid_block", groups, last)
	m.normOut = b.GroupNorm("encoder.conv_norm_out", groups, last)
	m.convOut = b.Conv2d("encoder.conv_out", last, 2*m.latent, 3, sameSize, true)
}

// addDecoder makes the parameters of Decoder, whose up_blocks come before its mid_block.
func (m *autoencoderKL) addDecoder(b *nn.Builder, c *Config, widths []int) {
	groups, layers := c.Positive("norm_num_groups", 32), c.Positive("layers_per_block", 1)
	in := widths[len(widths)-1]
	b.Conv2d("decoder.conv_in", m.latent, in, 3, sameSize, true)
	for i := range widths {
		out := widths[len(widths)-1-i]
		k := &encoderBlock{Path: shadow.Path(fmt.Sprintf("decoder.up_blocks.%d", i))}
		for range layers + 1 {
			k.addResnet(b, groups, in, out)
			in = out
		}
		if i < len(widths)-1 {
			b.Conv2d(k.At()+".upsamplers.0.conv", out, out, 3, sameSize, true)
		}
	}
	newMidBlock(b, c, "decoder.mid_block", groups, widths[len(widths)-1])
	b.GroupNorm("decoder.conv_norm_out", groups, widths[0])
	b.Conv2d("decoder.conv_out", widths[0], c.Positive("out_channels", 3), 3, sameSize, true)
}

func newMidBlock(b *nn.Builder, c *Config, at string, groups, width int) *encoderBlock {
	k := &encoderBlock{Path: shadow.Path(at)}
	if c.Bool("mid_block_add_attention", true) {
		norm := b.GroupNorm(at+".attentions.0.group_norm", groups, width)
		k.attention = newCrossAttention(b, at+".attentions.0", width, width, 1, true)
		k.attention.groupNorm = norm
	}
	k.addResnet(b, groups, width, width)
	k.addResnet(b, groups, width, width)
	return k
}

func (k *encoderBlock) addResnet(b *nn.Builder, groups, in, out int) {
	k.resnets = append(k.resnets, newResnetBlock2D(b, fmt.Sprintf("%s.resnets.%d", k.At(), len(k.resnets)), nil, groups, in, out, 0))
}

// Forward is DownEncoderBlock2D.forward, or UNetMidBlock2D.forward, where attention follows the first resnet.
func (k *encoderBlock) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	w := hidden.World()
	for i, r := range k.resnets {
		fn.Set(&hidden, w.Call(r, hidden))
		if i == 0 && k.attention != nil {
			fn.Set(&hidden, k.attention.call(hidden, nil))
		}
	}
	if k.sampler != nil { // Downsample2D pads only at two edges
		down := w.Func(hidden)
		x := hidden
		down.Set(&x, x.PadImage(1, 1))
		down.Set(&x, w.Call(k.sampler, x))
		fn.Set(&hidden, down.Return(x))
	}
	return hidden
}

// sample is encode(pixels).latent_dist.sample(). The distribution is freed once it has been sampled.
func (m *autoencoderKL) sample(pixels *shadow.Tensor) *shadow.Tensor {
	fn, encode := m.w.Func(), m.w.Func(pixels)
	parameters := fn.Let(m.encode(pixels))
	halves := parameters.Chunk(2, 1)
	mean, logvar := fn.Let(halves[0]), fn.Let(halves[1])
	fn.Set(&logvar, logvar.Clamp())
	std := fn.Let(logvar.MulScalar().Exp())
	fn.Let(logvar.Exp()) // var
	encode.Return(nil)
	noise := fn.Let(mean.RandnLike())
	return fn.Return(mean.Add(std.Mul(noise)))
}

// encode is _encode.
func (m *autoencoderKL) encode(pixels *shadow.Tensor) *shadow.Tensor {
	w := m.w
	fn := w.Func(pixels)
	x := fn.Let(pixels)
	enc := fn.Let(m.encoder(x))
	if m.quant != nil {
		fn.Set(&enc, w.Call(m.quant, enc))
	}
	return fn.Return(enc)
}

// encoder is Encoder.forward.
func (m *autoencoderKL) encoder(sample *shadow.Tensor) *shadow.Tensor {
	w := m.w
	fn := w.Func(sample)
	fn.Set(&sample, w.Call(m.convIn, sample))
	for _, k := range m.down {
		fn.Set(&sample, w.Call(k, sample))
	}
	fn.Set(&sample, w.Call(m.mid, sample))
	fn.Set(&sample, w.Call(m.normOut, sample))
	fn.Set(&sample, sample.SiLU())
	fn.Set(&sample, w.Call(m.convOut, sample))
	return fn.Return(sample)
}
