// SPDX-License-Identifier: Apache-2.0

package shadow

// One step of a recurrent layer: nn.LSTMCell and nn.GRUCell (aten/src/ATen/native/cuda/RNN.cu). Each product of weights is
// computed first; a fused kernel then leaves a workspace for backward.

// gruWorkspace is the number of values per state that the fused kernel of a GRU keeps.
const gruWorkspace = 5

// LSTMCell returns the new hidden state and the new cell of a step. The biases may be nil.
func (t *Tensor) LSTMCell(hidden, cell, ih, hh, inputBias, hiddenBias *Tensor) (newHidden, newCell *Tensor) {
	w := t.w
	fn := w.Func(t, hidden, cell)
	input := fn.Let(t.Mm(ih.T()))
	gates := fn.Let(hidden.Mm(hh.T()))
	n := w.record("ThnnFusedLstmCellBackward0", input, gates, cell, inputBias, hiddenBias)
	for _, x := range []*Tensor{input, gates, cell, inputBias, hiddenBias} {
		n.saveIf(x != nil, x)
	}
	w.Op("_thnn_fused_lstm_cell")
	workspace := w.Empty(input.size, input.dtype)
	newHidden, newCell = w.Empty(cell.size, cell.dtype), w.Empty(cell.size, cell.dtype)
	w.Launch(newHidden, input, gates)
	n.save(newCell)
	n.save(workspace)
	dropTemporaries(workspace)
	size, cells := input.size, cell.size
	biases := inputBias != nil
	dtype := input.dtype
	n.backwards(func([]*Tensor) []*Tensor {
		w.Op("_thnn_fused_lstm_cell_backward")
		dg := w.Empty(size, dtype)
		dc := w.Empty(cells, dtype)
		w.Launch(dg, dc)
		if !biases {
			return inputGrads(dg, dg, dc)
		}
		db := dg.reduce("sum", []int{0}, false, dtype)
		return inputGrads(dg, dg, dc, db, db)
	})
	n.output(newHidden, 0)
	n.output(newCell, 1)
	return fn.Return2(newHidden, newCell)
}

// GRUCell returns the new hidden state of a step. The biases may be nil.
func (t *Tensor) GRUCell(hidden, ih, hh, inputBias, hiddenBias *Tensor) *Tensor {
	w := t.w
	fn := w.Func(t, hidden)
	input := fn.Let(t.Mm(ih.T()))
	gates := fn.Let(hidden.Mm(hh.T()))
	n := w.record("ThnnFusedGruCellBackward0", input, gates, hidden, inputBias, hiddenBias)
	for _, x := range []*Tensor{input, gates, hidden, inputBias, hiddenBias} {
		n.saveIf(x != nil, x)
	}
	w.Op("_thnn_fused_gru_cell")
	workspace := w.Empty(Dims(hidden.size.d[0], hidden.size.d[1]*gruWorkspace), input.dtype)
	out := w.Empty(hidden.size, hidden.dtype)
	w.Launch(out, input, gates)
	n.save(workspace)
	dropTemporaries(workspace)
	size, states := input.size, hidden.size
	biases := inputBias != nil
	n.backward(func(g *Tensor) []*Tensor {
		w.Op("_thnn_fused_gru_cell_backward")
		di, dh := w.Empty(size, g.dtype), w.Empty(size, g.dtype)
		dx := w.Empty(states, g.dtype)
		w.Launch(di, dh, g)
		if !biases {
			return inputGrads(di, dh, dx)
		}
		return inputGrads(di, dh, dx, di.reduce("sum", []int{0}, false, g.dtype), dh.reduce("sum", []int{0}, false, g.dtype))
	})
	return fn.Return(n.result(out, input, gates))
}
