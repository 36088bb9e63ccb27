// SPDX-License-Identifier: Apache-2.0

package shadow

import "snug/internal/kernel"

// Recurrent layers with cuDNN: _cudnn_rnn and its backward (native/cudnn/RNN.cpp).

// Recurrent is nn.LSTM, nn.GRU or nn.RNN.
type Recurrent struct {
	Weights    []*Tensor // parts of one flat tensor
	Gates      int       // 4 for an LSTM, 3 for a GRU, otherwise 1
	Hidden     int       // width of the hidden state
	Layers     int       // number of stacked layers
	Directions int       // 2 for a bidirectional layer, otherwise 1
	BatchFirst bool      // the input is (batch, steps, width), not (steps, batch, width)
	Training   bool      // the module is in training mode
	Dropout    bool      // there is dropout between the layers
	Steps      int       // the number of steps of a packed input, whose dimensions are (tokens, width); otherwise 0

	cast  bool // the weights are autocast's copies
	batch int  // the number of sequences of a packed input
}

// cell reports whether the layer has a cell besides its hidden state.
func (r *Recurrent) cell() bool { return r.Gates == 4 }

// FlattenWeights is flatten_parameters: the weights become parts of one tensor.
func FlattenWeights(weights []*Tensor) {
	if len(weights) == 0 || weights[0].mem == nil || weights[0].dtype == BFloat16 { // CUDNN_TENSOR_DTYPES does not include bfloat16
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

// shape returns the number of steps and the batch size of t.
func (r *Recurrent) shape(t *Tensor) (steps, batch int) {
	switch {
	case r.Steps > 0:
		return r.Steps, r.batch
	case r.BatchFirst:
		return t.size.d[1], t.size.d[0]
	}
	return t.size.d[0], t.size.d[1]
}

// stepsFirst returns a view of t in the order that cuDNN expects.
func (r *Recurrent) stepsFirst(t *Tensor) *Tensor {
	if r.BatchFirst {
		return t.Transpose(0, 1)
	}
	return t.Alias()
}

// call describes a call of the layer for package kernel.
func (r *Recurrent) call(x *Tensor, steps, batch int, backward bool) kernel.RecurrentLayer {
	tokens := 0
	if r.Steps > 0 {
		tokens = x.size.d[0]
	}
	return kernel.RecurrentLayer{
		Tokens: tokens,
		Gates:  r.Gates, Input: x.size.d[x.size.n-1], Hidden: r.Hidden, Layers: r.Layers, Directions: r.Directions, Steps: steps, Batch: batch, Element: x.dtype.Bytes(),
		Dropout: r.Dropout && r.Training, Training: r.Training, Backward: backward, Flat: r.flat(),
	}
}

// flat reports whether the weights are parts of one tensor. flatten_parameters does not flatten bfloat16 weights.
func (r *Recurrent) flat() bool {
	return len(r.Weights) > 0 && r.Weights[0].dtype != BFloat16 || r.cast
}

// Run runs the layer over t, starting from the given states; cell is nil unless it is an LSTM. It returns the
// outputs of all steps and the last states.
func (r *Recurrent) Run(t, hidden, cell *Tensor) (out, lastHidden, lastCell *Tensor) {
	if dt := t.w.AutocastType(); dt != None && (dt != t.dtype || dt != r.Weights[0].dtype) {
		return r.runCast(dt, t, hidden, cell)
	}
	w := t.w
	n := w.record("CudnnRnnBackward0", append([]*Tensor{t, hidden, cell}, r.Weights...)...)
	input := n.save(t)
	for _, p := range append([]*Tensor{hidden, cell}, r.Weights...) {
		n.saveIf(p != nil, p)
	}
	r.batch = hidden.size.d[1]
	steps, batch := r.shape(t)
	w.Op("_cudnn_rnn")
	w.recurrentDropout(r.Dropout && r.Training)
	x := r.stepsFirst(t).Hold()
	copied := w.rowMajor(x)
	width := r.Hidden * r.Directions
	all := Dims(steps, batch, width)
	if r.Steps > 0 {
		all = Dims(t.size.d[0], width)
	}
	out = w.emptyStrided(all, all.contiguous(), t.dtype).Hold()
	state := hidden.size
	lastHidden = w.Empty(state, t.dtype)
	if r.cell() {
		lastCell = w.Empty(state, t.dtype)
	}
	var flat *Tensor
	if !r.flat() {
		flat = w.Empty(Dims(r.weights()), t.dtype)
	}
	call := r.call(x, steps, batch, false)
	workspace := w.alloc(w.kernelBytes(w.Rules.RecurrentWorkspace(call)))
	var kept *Tensor
	if r.Training {
		kept = w.Empty(Dims(int(w.kernelBytes(w.Rules.RecurrentReserve(call)))), UInt8)
	}
	w.Launch(out, t)
	w.release(workspace)
	copied()
	x.Drop()
	if r.BatchFirst {
		out.size, out.stride = Dims(batch, steps, width), Dims(width, batch*width, 1)
	}
	result := n.save(out)
	for _, t := range []*Tensor{kept, flat} {
		if t != nil {
			n.save(t)
			dropTemporaries(t)
		}
	}
	n.backwards(func(g []*Tensor) []*Tensor { return r.backward(input.get(), result.get(), state, g) })
	n.output(out, 0)
	n.output(lastHidden, 1)
	if lastCell != nil {
		n.output(lastCell, 2)
	}
	return out.loosen(), lastHidden, lastCell
}

// runCast is autocast's _cast_cudnn_rnn: the weights become parts of one tensor of the lower type, then the
// states and the input are cast.
func (r *Recurrent) runCast(dt DType, t, hidden, cell *Tensor) (out, lastHidden, lastCell *Tensor) {
	fn := t.w.Func()
	low := *r
	low.cast, low.Weights = true, r.castWeights(fn, dt)
	h := fn.Let(hidden.To(dt))
	if cell != nil {
		cell = fn.Let(cell.To(dt))
	}
	x := fn.Let(t.To(dt))
	t.w.withAutocast(None, func() { out, lastHidden, lastCell = low.Run(x, h, cell) })
	for _, o := range []*Tensor{out, lastHidden, lastCell} {
		o.Hold()
	}
	fn.exit()
	return out.loosen(), lastHidden.loosen(), lastCell.loosen()
}

// castWeights casts the weights into one tensor.
func (r *Recurrent) castWeights(fn *Frame, dt DType) (out []*Tensor) {
	w := r.Weights[0].w
	flat := w.Empty(Dims(r.weights()), dt).Hold()
	for _, p := range r.Weights {
		n := w.record("ToCopyBackward0", p)
		part := fn.Let(flat.alias(p.size, p.size.contiguous()))
		n.backward(func(g *Tensor) []*Tensor { return []*Tensor{g.To(p.dtype)} })
		n.output(part, 0)
		out = append(out, part)
	}
	flat.Drop()
	return out
}

// weights returns the number of elements of all weights.
func (r *Recurrent) weights() (numel int) {
	for _, p := range r.Weights {
		numel += p.Numel()
	}
	return numel
}

// recurrentDropout allocates the random state at the first dropout in a recurrent layer. The state is kept.
func (w *World) recurrentDropout(on bool) {
	if on && !w.dropoutState {
		w.dropoutState = true
		w.Scratch(8)
		w.alloc(w.Rules.RecurrentDropout())
	}
}

// backward is _cudnn_rnn_backward. It computes the input's gradient, then the gradient of all weights in one
// tensor.
func (r *Recurrent) backward(input, result *Tensor, state Shape, g []*Tensor) []*Tensor {
	w, dt := input.w, input.dtype
	fn := w.Func()
	states := 1
	if r.cell() {
		states = 2
	}
	for i := range states { // zeros replace missing gradients of the last states
		if len(g) <= i+1 || g[i+1] == nil {
			fn.Let(w.Empty(state, dt))
		}
	}
	steps, batch := r.shape(input)
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
	workspace := w.kernelBytes(w.Rules.RecurrentWorkspace(r.call(x, steps, batch, true)))
	w.Scratch(workspace)
	copiedGrad()
	copied()
	grads := make([]*Tensor, 3+len(r.Weights))
	grads[0] = r.stepsFirst(dx).Hold()
	dx.Drop()
	copied = w.rowMajor(x)
	r.weightGrads(grads[3:])
	w.Scratch(workspace)
	copied()
	fn.exit()
	return looseAll(grads)
}

// weightGrads allocates the gradients of the weights as parts of one tensor.
func (r *Recurrent) weightGrads(grads []*Tensor) {
	w := r.Weights[0].w
	flat := w.Empty(Dims(r.weights()), r.Weights[0].dtype).Hold()
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
