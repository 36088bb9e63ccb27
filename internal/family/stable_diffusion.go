// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// Stable Diffusion as diffusers' examples/text_to_image trains it (0.42): a U-Net learns to predict the noise in
// latent images. The autoencoder and the text encoder are frozen.

// noiseSteps is num_train_timesteps of the noise scheduler.
const noiseSteps = 1000

// Diffuser is a model that learns to predict noise.
type Diffuser interface {
	Model
	diffuses()
}

type stableDiffusion struct {
	net
	unet    *unet2D
	vae     *autoencoderKL
	text    *clipText
	weights shadow.DType   // weight_dtype, the type of the frozen models
	alphas  *shadow.Tensor // alphas_cumprod of the noise scheduler
	names   diffusionNames

	velocity bool // prediction_type is v_prediction
}

func newStableDiffusion(b *nn.Builder, c *Config, run Run) (Model, error) {
	m := &stableDiffusion{net: net{b.W, run}, weights: b.DType}
	if run.Low != shadow.None {
		m.weights = run.Low
	}
	switch c.String("prediction_type", "epsilon") {
	case "epsilon":
	case "v_prediction":
		m.velocity = true
	default:
		c.fail("prediction_type", "epsilon or v_prediction; others are not simulated")
	}
	parts := map[string]*Config{"unet": nil, "vae": nil, "text_encoder": nil}
	for key := range parts {
		keys, ok := c.keys[key].(map[string]any)
		if !ok {
			c.fail(key, "the "+key+"'s config.json")
		}
		parts[key] = NewConfig(keys)
	}
	m.unet = newUNet2D(b, parts["unet"], run, "")
	var vae, text *nn.Builder
	if run.Adapts { // the order in which the programs move the models to the card
		vae, text = b.Beside(m.weights), b.Beside(m.weights)
	} else {
		text, vae = b.Beside(m.weights), b.Beside(m.weights)
	}
	m.vae = newAutoencoderKL(vae, parts["vae"])
	m.text = newCLIPText(text, parts["text_encoder"], run)
	m.alphas = text.Buffer(shadow.Float32, noiseSteps)
	vae.FreezeAll()
	text.FreezeAll()
	for _, key := range []string{"unet", "vae", "text_encoder"} {
		if err := parts[key].Err(); err != nil && c.err == nil {
			c.err = err
		}
	}
	if run.Resolution%(m.vae.factor) != 0 {
		return nil, refuse("resolution", "%d is not a multiple of %d, the factor by which the autoencoder shrinks images", run.Resolution, m.vae.factor)
	}
	return m, nil
}

func (m *stableDiffusion) Batch() Batch {
	side := m.run.Resolution
	pixels := m.w.Input(shadow.Float32, m.run.Batch, 3, side, side)
	return Batch{Pixels: pixels, IDs: m.w.Input(shadow.Int64, m.run.Batch, m.text.length)}
}

// Loss is the body of the training loop up to the loss. Only the U-Net runs under autocast; accelerate converts its
// output to float32. In the program itself the variables live until the next iteration sets them.
func (m *stableDiffusion) Loss(b Batch) *shadow.Tensor {
	w, low, v := m.w, m.w.AutocastType(), &m.names
	var out *shadow.Tensor
	w.Autocast(shadow.None, func() {
		v.set(&v.latents, m.vae.sample(b.Pixels.To(m.weights)))
		v.set(&v.latents, v.latents.MulScalar())
		v.set(&v.noise, v.latents.RandnLike())
		v.set(&v.timesteps, w.RandInt(v.latents.Size(0)))
		v.set(&v.noisy, m.addNoise(v.latents, v.noise, v.timesteps))
		v.set(&v.text, m.text.call(b.IDs))
		v.set(&v.target, m.target())
		v.set(&v.prediction, m.predict(low))
		out = v.prediction.MSELoss(v.target.Float(), "mean")
	})
	if m.run.Calling == nil {
		v.end()
	}
	return out
}

// predict is unet(noisy_latents, timesteps, encoder_hidden_states)[0] after accelerator.prepare.
func (m *stableDiffusion) predict(low shadow.DType) *shadow.Tensor {
	fn, v := m.w.Func(), &m.names
	var out *shadow.Tensor
	m.w.Autocast(low, func() { fn.Set(&out, m.unet.call(v.noisy, v.timesteps, v.text)) })
	return fn.Return(out.Float())
}

// diffusionNames are the variables of the training loop, named as in the program or similarly.
type diffusionNames struct {
	latents, noise, timesteps, noisy, text, target, prediction *shadow.Tensor
}

// set binds a variable, in Python's order: the new value exists before the old one is dropped.
func (v *diffusionNames) set(at **shadow.Tensor, to *shadow.Tensor) {
	to.Hold()
	(*at).Drop()
	*at = to
}

// end returns from the function that has the variables.
func (v *diffusionNames) end() {
	for _, at := range []**shadow.Tensor{&v.latents, &v.noise, &v.timesteps, &v.noisy, &v.text, &v.target, &v.prediction} {
		(*at).Drop()
		*at = nil
	}
}

// addNoise is DDPMScheduler.add_noise.
func (m *stableDiffusion) addNoise(latents, noise, timesteps *shadow.Tensor) *shadow.Tensor {
	fn := m.w.Func(latents, noise, timesteps)
	kept, added := m.alphasAt(fn, timesteps, latents.DType())
	noisy := fn.Let(kept.Mul(latents).Add(added.Mul(noise)))
	return fn.Return(noisy)
}

// target is what the U-Net should predict: the noise, or DDPMScheduler.get_velocity.
func (m *stableDiffusion) target() *shadow.Tensor {
	v := &m.names
	if !m.velocity {
		return v.noise
	}
	fn := m.w.Func(v.latents, v.noise, v.timesteps)
	kept, added := m.alphasAt(fn, v.timesteps, v.latents.DType())
	velocity := fn.Let(kept.Mul(v.noise).Sub(added.Mul(v.latents)))
	return fn.Return(velocity)
}

// alphasAt returns the shares of the image and of the noise at each time step, (B, 1, 1, 1).
func (m *stableDiffusion) alphasAt(fn *shadow.Frame, timesteps *shadow.Tensor, dt shadow.DType) (kept, added *shadow.Tensor) {
	alphas := fn.Let(m.alphas.To(dt))
	kept = fn.Let(fn.Let(alphas.Index(timesteps).Pow()).Unsqueeze(1).Unsqueeze(2).Unsqueeze(3))
	added = fn.Let(fn.Let(alphas.Index(timesteps).RSubScalar().Pow()).Unsqueeze(1).Unsqueeze(2).Unsqueeze(3))
	return kept, added
}

func (m *stableDiffusion) diffuses() {}
