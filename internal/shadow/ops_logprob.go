// SPDX-License-Identifier: Apache-2.0

package shadow

// The loss of TRL's trainers, which never holds more than a tile of the logits: ChunkedLogProbFunction of
// trl/kernels/chunked_logprob.py, 1.16. Products are computed tile by tile into one buffer. Kernels that
// allocate nothing merge each tile into the running result of its tokens, and in backward replace it
// with its gradient.

// Tile is the part of the logits that exists at one time.
type Tile struct {
	Tokens int // rows
	Words  int // columns: entries of the vocabulary
}

// LogProbs returns, for each row of t, the log of its target's probability, the
// entropy, and whether the target is the most likely word.
func (t *Tensor) LogProbs(weight, targets *Tensor, tile Tile) (logProbs, entropy, top *Tensor) {
	w := t.w
	n := w.record("ChunkedLogProbFunctionBackward", t, weight)
	record := w.NoGrad()
	fn := w.Func(t, weight, targets)
	p := &projection{t: t, weight: weight, tile: tile, dtype: t.dtype}
	if w.autocast != None {
		p.dtype = w.autocast
	}
	var known [7]*Tensor // per token: maximum, sums of exp, of x·exp and of squares, sum, maximum before the target, logit of the target
	for i := range known {
		w.Op("zeros")
		known[i] = fn.Let(w.Empty(Dims(t.Size(0)), Float32))
	}
	p.forward(fn)
	greatest, sum, target := known[0], known[1], known[6]
	logZ := fn.Let(greatest.Add(sum.plain("log", Float32)))
	logProbs = fn.Let(target.Sub(logZ))
	entropy = fn.Let(logZ.Sub(known[2].Div(sum)))
	reached := target.CompareWith("ge", greatest).Hold()
	top = fn.Let(reached.And(target.CompareWith("gt", known[5])))
	reached.Drop()
	kept, part := n.save(t), n.save(weight)
	for _, x := range []*Tensor{targets, logZ, entropy} {
		n.save(x)
	}
	p.carries, p.trains = n.needsGrad(0), n.needsGrad(1)
	n.backwards(func([]*Tensor) []*Tensor {
		p.t, p.weight = kept.get(), part.get()
		return p.backward()
	})
	logProbs, entropy, top = fn.Return3(logProbs, entropy, top)
	record()
	n.output(logProbs, 0)
	n.output(entropy, 1)
	return logProbs, entropy, top
}

// projection is t @ weight.T, a tile at a time.
type projection struct {
	t, weight       *Tensor
	tile            Tile
	dtype           DType // of the products
	carries, trains bool  // whether gradients of t and of the weight are needed
}

// forward computes every tile once. A part of the weight lives only during its
// product.
func (p *projection) forward(fn *Frame) {
	w := p.t.w
	buffer := p.buffer(fn)
	var rows, tile *Tensor
	for from := 0; from < p.t.Size(0); from += p.tile.Tokens {
		fn.Set(&rows, p.rows(from))
		for start := 0; start < p.weight.Size(0); start += p.tile.Words {
			fn.Set(&tile, p.part(buffer, rows, start))
			words := p.words(start)
			p.product(tile, rows, words)
			dropTemporaries(words)
			w.Launch(tile)
		}
	}
}

// backward computes every tile again, and sums gradients in float32.
func (p *projection) backward() []*Tensor {
	w := p.t.w
	fn := w.Func()
	var dt, dw *Tensor
	if p.carries {
		w.Op("zeros")
		dt = fn.Let(w.Empty(p.t.size, Float32))
	}
	if p.trains {
		w.Op("zeros")
		dw = fn.Let(w.Empty(p.weight.size, Float32))
	}
	buffer := p.buffer(fn)
	var rows, words, tile *Tensor
	for from := 0; from < p.t.Size(0); from += p.tile.Tokens {
		fn.Set(&rows, p.rows(from))
		for start := 0; start < p.weight.Size(0); start += p.tile.Words {
			fn.Set(&words, p.words(start))
			fn.Set(&tile, p.part(buffer, rows, start))
			p.product(tile, rows, words)
			w.Launch(tile, tile)
			if p.carries {
				p.product(rows, tile, words)
			}
			if p.trains {
				flipped := tile.T()
				p.product(words, flipped, rows)
				dropTemporaries(flipped)
			}
		}
	}
	var grads [2]*Tensor
	if p.carries {
		grads[0] = dt.To(p.t.dtype)
	}
	if p.trains {
		grads[1] = dw.To(p.weight.dtype)
	}
	a, b := fn.Return2(grads[0], grads[1])
	return inputGrads(a, b)
}

// buffer allocates the memory for the tiles.
func (p *projection) buffer(fn *Frame) *Tensor {
	p.t.w.Op("empty")
	return fn.Let(p.t.w.Empty(Dims(min(p.t.Size(0), p.tile.Tokens), p.tile.Words), p.dtype))
}

// rows returns some tokens, in the products' type.
func (p *projection) rows(from int) *Tensor {
	return p.t.Slice(0, from, min(from+p.tile.Tokens, p.t.Size(0))).To(p.dtype)
}

// words returns a part of the weight, in the products' type.
func (p *projection) words(start int) *Tensor {
	return p.weight.Slice(0, start, min(start+p.tile.Words, p.weight.Size(0))).To(p.dtype)
}

// part returns the part of the buffer that a tile uses.
func (p *projection) part(buffer, rows *Tensor, start int) *Tensor {
	return buffer.Slice(0, 0, rows.Size(0)).Slice(1, 0, min(p.tile.Words, p.weight.Size(0)-start))
}

// product computes a product into existing memory.
func (p *projection) product(out, a, b *Tensor) {
	p.t.w.Op("mm")
	p.t.w.cublas()
	p.t.w.product(out, a, b)
}
