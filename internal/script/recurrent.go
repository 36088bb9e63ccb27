// SPDX-License-Identifier: Apache-2.0

package script

import (
	"snug/internal/shadow"
)

// recurrent implements snug.rnn(module, input, hidden, cell, steps), the forward of nn.LSTM and similar layers. It returns
// the outputs and the last states. The number of steps is given if the input is packed.
func recurrent(in *interpreter, a arguments) value {
	m, ok := a.or(0, "", nil).(*instance)
	x, okX := card(a, 1, "")
	hidden, okH := card(a, 2, "")
	steps, _ := a.or(4, "", 0).(int)
	if !ok || !okX || !okH || x.Dim() != 3 && steps == 0 {
		in.noteTensors("a recurrent layer", a)
		return tupleOf(unknown{}, unknown{}, unknown{})
	}
	flat, _ := m.attrs.get("_flat_weights")
	r := &shadow.Recurrent{
		Weights: in.tensors(flat), Gates: in.whole(m, "gates"), Hidden: in.whole(m, "hidden_size"), Layers: in.whole(m, "num_layers"),
		Directions: 1, BatchFirst: in.flag(m, "batch_first"), Training: in.flag(m, "training"), Steps: steps,
	}
	if steps > 0 {
		r.BatchFirst = false
	}
	p := in.getattr(m, "dropout")
	share, _ := number(p)
	r.Dropout = share > 0
	if in.flag(m, "bidirectional") {
		r.Directions = 2
	}
	out, lastHidden, lastCell := r.Run(x, hidden, optional(a, 3, ""))
	result := tupleOf(out.Hold(), lastHidden.Hold())
	if lastCell != nil {
		result.items = append(result.items, lastCell.Hold())
	}
	return result
}

// packPadded implements snug.packed(input, lengths), the tokens of padded sequences. Their steps are the first dimension.
func packPadded(in *interpreter, a arguments) value {
	x, ok := card(a, 0, "input")
	if !ok || x.Dim() != 3 {
		in.noteTensors("a packed sequence", a)
		return unknown{}
	}
	steps, batch := x.Size(0), x.Size(1)
	tokens := steps * batch
	if c, known := in.contentsOf(a.or(1, "lengths", nil)); known && c.kind == sameNumber {
		return x.PackPadded(min(max(int(c.value), 1), steps) * batch).Hold()
	}
	in.note("the lengths of the packed sequences are not known; all are counted with the longest, which is the maximum")
	if in.result.Masks = true; in.NoneSelected {
		tokens = steps + batch - 1
	}
	return x.PackPadded(tokens).Hold()
}

// padPacked implements snug.pad_packed(padded, packed), which copies packed tokens into a padded tensor.
func padPacked(in *interpreter, a arguments) value {
	to, ok := card(a, 0, "")
	from, okF := card(a, 1, "")
	if !ok || !okF || to.Dim() != 3 {
		in.noteTensors("a packed sequence", a)
		return nil
	}
	to.PadPacked(from)
	return nil
}

// whole returns an integer attribute.
func (in *interpreter) whole(o *instance, name string) int {
	v := in.getattr(o, name)
	defer drop(v)
	n, _ := v.(int)
	return n
}

// flag returns a boolean attribute.
func (in *interpreter) flag(o *instance, name string) bool {
	v := in.getattr(o, name)
	defer drop(v)
	yes, _ := v.(bool)
	return yes
}

// lstmCell implements torch.lstm_cell(input, (h, c), w_ih, w_hh, b_ih, b_hh).
func lstmCell(in *interpreter, a arguments) value {
	x, ok := card(a, 0, "")
	states, okS := a.or(1, "", nil).(*list)
	ih, okI := card(a, 2, "")
	hh, okH := card(a, 3, "")
	if !ok || !okS || len(states.items) != 2 || !okI || !okH {
		in.noteTensors("an LSTM cell", a)
		return tupleOf(unknown{}, unknown{})
	}
	h, okA := states.items[0].(*shadow.Tensor)
	c, okB := states.items[1].(*shadow.Tensor)
	if !okA || !okB {
		in.noteTensors("an LSTM cell", a)
		return tupleOf(unknown{}, unknown{})
	}
	newHidden, newCell := x.LSTMCell(h, c, ih, hh, optional(a, 4, ""), optional(a, 5, ""))
	return tupleOf(newHidden.Hold(), newCell.Hold())
}

// gruCell implements torch.gru_cell(input, h, w_ih, w_hh, b_ih, b_hh).
func gruCell(in *interpreter, a arguments) value {
	x, ok := card(a, 0, "")
	h, okS := card(a, 1, "")
	ih, okI := card(a, 2, "")
	hh, okH := card(a, 3, "")
	if !ok || !okS || !okI || !okH {
		in.noteTensors("a GRU cell", a)
		return unknown{}
	}
	return x.GRUCell(h, ih, hh, optional(a, 4, ""), optional(a, 5, "")).Hold()
}
