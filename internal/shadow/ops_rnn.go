// SPDX-License-Identifier: Apache-2.0

package shadow

// Recurrent layers with cuDNN: _cudnn_rnn and its backward (native/cudnn/RNN.cpp).

// Recurrent is nn.LSTM, nn.GRU or nn.RNN.
type Recurrent struct {
	Weights    []*Tensor // parts of one flat tensor
	Gates      int       // 4 for an LSTM, 3 for a GRU, otherwise 1
	Hidden     int
	Layers     int
	Directions int
	BatchFirst bool
	Training   bool
}

// cell reports whether the layer has a cell besides its hidden state.
func (r *Recurrent) cell() bool { return r.Gates == 4 }

// FlattenWeights is flatten_parameters: the weights become parts of one tensor.
func FlattenWeights(weights []*Tensor) {
	if len(weights) == 0 || weights[0].mem == nil {
		return
	}
	w, numel := weights[0].w, 0
	for _, p := range weights {
		numel += p.Numel()
	}
	defer w.As(Parameters)()
	flat := w.Empty(Dims(numel), weights[0].dtype).Hold()
	for _, p := range weights {
		p.ToMeta()
		p.LayInto(flat)
	}
	flat.Drop()
}

// shape returns the number of steps and the batch of t.
func (r *Recurrent) shape(t *Tensor) (steps, batch int) {
	if r.BatchFirst {
		return t.size.d[1], t.size.d[0]
	}
	return t.size.d[0], t.size.d[1]
}

// stepsFirst returns a view of t in the order that cuDNN takes.
func (r *Recurrent) stepsFirst(t *Tensor) *Tensor {
	if r.BatchFirst {
		return t.Transpose(0, 1)
	}
	return t.Alias()
}

// Run runs the layer over t, from initial states; cell is nil unless it is an LSTM. It returns the outputs of all
// steps and the last states.
func (r *Recurrent) Run(t, hidden, cell *Tensor) (out, lastHidden, lastCell *Tensor) {
	w := t.w
	n := w.record("CudnnRnnBackward0", append([]*Tensor{t, hidden, cell}, r.Weights...)...)
	input := n.save(t)
	for _, p := range append([]*Tensor{hidden, cell}, r.Weights...) {
		n.saveIf(p != nil, p)
	}
	steps, batch := r.shape(t)
	w.Op("_cudnn_rnn")
	x := r.stepsFirst(t).Hold()
	copied := w.rowMajor(x)
	width := r.Hidden * r.Directions
	out = w.emptyStrided(Dims(steps, batch, width), Dims(steps, batch, width).contiguous(), t.dtype).Hold()
	state := Dims(r.Layers*r.Directions, batch, r.Hidden)
	lastHidden = w.Empty(state, t.dtype)
	if r.cell() {
		lastCell = w.Empty(state, t.dtype)
	}
	workspace := w.alloc(r.workspace(steps, lastHidden.Bytes()))
	var kept *Tensor
	if r.Training {
		kept = w.Empty(Dims(int(r.reserve(out.Bytes()))), UInt8)
	}
	w.Launch(out, t)
	w.release(workspace)
	copied()
	x.Drop()
	if r.BatchFirst {
		out.size, out.stride = Dims(batch, steps, width), Dims(width, batch*width, 1)
	}
	result := n.save(out)
	if kept != nil {
		n.save(kept)
		dropTemporaries(kept)
	}
	n.backwards(func(g []*Tensor) []*Tensor { return r.backward(input.get(), result.get(), state, g) })
	n.output(out, 0)
	n.output(lastHidden, 1)
	if lastCell != nil {
		n.output(lastCell, 2)
	}
	return out.loosen(), lastHidden, lastCell
}

// backward is _cudnn_rnn_backward: the gradient of the input, then that of all weights in one tensor.
func (r *Recurrent) backward(input, result *Tensor, state Shape, g []*Tensor) []*Tensor {
	w, dt := input.w, input.dtype
	fn := w.Func()
	states := 1
	if r.cell() {
		states = 2
	}
	for i := range states { // gradients of last states that were not used
		if len(g) <= i+1 || g[i+1] == nil {
			fn.Let(w.Empty(state, dt))
		}
	}
	steps, _ := r.shape(input)
	bytes := uint64(state.Numel()) * dt.Bytes()
	x := fn.Let(r.stepsFirst(input))
	copied := w.rowMajor(x)
	arrived := result
	if g[0] != nil {
		arrived = g[0]
	}
	dy := fn.Let(r.stepsFirst(arrived))
	copiedGrad := w.rowMajor(dy)
	dx := w.Empty(x.size, dt).Hold()
	for range states {
		fn.Let(w.Empty(state, dt))
	}
	w.Scratch(r.workspace(steps, bytes))
	copiedGrad()
	copied()
	grads := make([]*Tensor, 3+len(r.Weights))
	grads[0] = r.stepsFirst(dx).Hold()
	dx.Drop()
	copied = w.rowMajor(x)
	r.weightGrads(grads[3:])
	w.Scratch(r.workspace(steps, bytes))
	copied()
	fn.exit()
	return looseAll(grads)
}

// weightGrads makes the gradients of the weights, as parts of one tensor.
func (r *Recurrent) weightGrads(grads []*Tensor) {
	numel := 0
	for _, p := range r.Weights {
		numel += p.Numel()
	}
	w := r.Weights[0].w
	flat := w.Empty(Dims(numel), r.Weights[0].dtype).Hold()
	for i, p := range r.Weights {
		grads[i] = flat.alias(p.size, p.size.contiguous()).Hold()
	}
	flat.Drop()
}

func looseAll(ts []*Tensor) []*Tensor {
	for _, t := range ts {
		t.loosen()
	}
	return ts
}

// reserve returns the bytes cuDNN keeps for the backward: the gates and the cell of every step.
func (r *Recurrent) reserve(out uint64) uint64 {
	return uint64(r.Layers*(r.Gates+1))*out + 256
}

// workspace returns the bytes cuDNN needs for a run: 32 MiB for its products, the gates of every step (of 16 at a
// time if nothing is kept), and some states.
func (r *Recurrent) workspace(steps int, state uint64) uint64 {
	gates, states := steps, 13
	if !r.Training {
		gates, states = min(steps, 16), 12
	}
	return 32<<20 + uint64(r.Gates*gates+states)*state + 288
}
