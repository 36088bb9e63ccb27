// SPDX-License-Identifier: Apache-2.0

package shadow

// The loss of TRL's trainers, which never keeps more than one tile of the logits: ChunkedLogProbFunction in
// trl/kernels/chunked_logprob.py, 1.16. Products are computed tile by tile into one buffer. Kernels that allocate
// nothing merge each tile into its tokens' running results, and in backward replace it with its gradient.

// Tile is the part of the logits that exists at any one time.
type Tile struct {
	Tokens int // rows
	Words  int // columns: vocabulary entries
}

// TokenScores holds what ChunkedLogProbFunction computes for each token. A field is nil if it was not requested.
type TokenScores struct {
	LogProbs *Tensor // the log of the target's probability
	Entropy  *Tensor // entropy of the distribution
	Squares  *Tensor // the log of the sum of squared probabilities
	Mean     *Tensor // mean of the logits
	Top      *Tensor // whether the target is the most likely token
}

// Scored selects what LogProbs computes besides the log-probabilities: Entropy, Squares, Mean and Top of TokenScores.
type Scored struct{ Entropy, Squares, Mean, Top bool }

// LogProbs scores the target of each row of t, using the logits t @ weight.T.
func (t *Tensor) LogProbs(weight, targets *Tensor, tile Tile, want Scored) TokenScores {
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
	logZ := fn.Let(known[0].Add(known[1].plain("log", Float32)))
	out := scores(fn, logZ, known, want)
	kept, part := n.save(t), n.save(weight)
	entropy := out.Entropy
	if entropy == nil {
		entropy = logZ
	}
	for _, x := range []*Tensor{targets, logZ, entropy} {
		n.save(x)
	}
	p.carries, p.trains = n.needsGrad(0), n.needsGrad(1)
	n.backwards(func([]*Tensor) []*Tensor {
		p.t, p.weight = kept.get(), part.get()
		return p.backward()
	})
	fn.Returns(out.LogProbs, out.Entropy, out.Squares, out.Mean, out.Top)
	record()
	n.output(out.LogProbs, 0)
	if out.Entropy != nil {
		n.output(out.Entropy, 1)
	}
	return out
}

// scores computes the results from the per-token values in known.
func scores(fn *Frame, logZ *Tensor, known [7]*Tensor, want Scored) (out TokenScores) {
	greatest, sum, target := known[0], known[1], known[6]
	out.LogProbs = fn.Let(target.Sub(logZ))
	if want.Entropy {
		out.Entropy = fn.Let(logZ.Sub(known[2].Div(sum)))
	}
	if want.Squares {
		squares := known[3].plain("log", Float32).Hold()
		twice := sum.plain("log", Float32).MulScalar().Hold()
		out.Squares = fn.Let(squares.Sub(twice))
		squares.Drop()
		twice.Drop()
	}
	if want.Mean {
		out.Mean = fn.Let(known[4].DivScalar())
	}
	if want.Top {
		reached := target.CompareWith("ge", greatest).Hold()
		out.Top = fn.Let(reached.And(target.CompareWith("gt", known[5])))
		reached.Drop()
	}
	return out
}

// projection is t @ weight.T, a tile at a time.
type projection struct {
	t, weight       *Tensor
	tile            Tile
	dtype           DType // type of the products
	carries, trains bool  // gradients of t, and of the weight, are needed
}

// forward computes every tile once. A slice of the weight lives only during its product.
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

// rows returns a tile's tokens, in the products' type.
func (p *projection) rows(from int) *Tensor {
	return p.t.Slice(0, from, min(from+p.tile.Tokens, p.t.Size(0))).To(p.dtype)
}

// words returns a tile's rows of the weight, in the products' type.
func (p *projection) words(start int) *Tensor {
	return p.weight.Slice(0, start, min(start+p.tile.Words, p.weight.Size(0))).To(p.dtype)
}

// part returns the part of the buffer that a tile uses.
func (p *projection) part(buffer, rows *Tensor, start int) *Tensor {
	return buffer.Slice(0, 0, rows.Size(0)).Slice(1, 0, min(p.tile.Words, p.weight.Size(0)-start))
}

// product writes a product to existing memory.
func (p *projection) product(out, a, b *Tensor) {
	p.t.w.Op("mm")
	p.t.w.cublas()
	p.t.w.product(out, a, b)
}
