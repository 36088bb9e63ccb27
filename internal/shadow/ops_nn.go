// SPDX-License-Identifier: Apache-2.0

package shadow

import "snug/internal/kernel"

// Embedding is F.embedding: rows of a table. Its gradient is a whole table of
// zeros into which the rows are added.
func (ids *Tensor) Embedding(table *Tensor) *Tensor {
	w := ids.w
	n := w.record("EmbeddingBackward0", table)
	kept := n.save(ids)
	w.Op("embedding")
	flat := ids.Hold()
	if !ids.contiguous() { // index_select over ids.reshape(-1)
		flat = ids.clone(ids.size.contiguous()).Hold()
	}
	out := w.Empty(ids.size.insert(ids.size.n, table.Size(-1)), table.dtype)
	w.Launch(out, out)
	if flat != ids {
		flat.Drop()
	}
	ids.loosen()
	rows, width := table.Size(0), table.Size(1)
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(g.embeddingGrad(kept.get(), rows, width)) })
	return n.result(out, ids)
}

// embeddingGrad is embedding_dense_backward: one kernel adds rows directly, or
// many indices are sorted first.
func (g *Tensor) embeddingGrad(ids *Tensor, rows, width int) *Tensor {
	w := g.w
	w.Op("embedding_dense_backward")
	c := g.Contiguous().Hold()
	flat := ids.Contiguous().Hold()
	var out *Tensor
	if !kernel.EmbeddingSorts(ids.Numel()) {
		out = w.Empty(Dims(rows, width), g.dtype)
		w.Launch(out, g)
	} else {
		out = w.embeddingSorted(g, ids, rows, width)
	}
	flat.Drop()
	c.Drop()
	return out
}

// LayerNorm is F.layer_norm over the last dimension. Mean and reciprocal deviation are kept in float32
// for every input type; autocast casts all three arguments to float32.
func (t *Tensor) LayerNorm(weight, bias *Tensor) *Tensor {
	w := t.w
	mark := w.pin(t)
	args := [3]*Tensor{t, weight, bias}
	for i := 2; i >= 0; i-- { // in C++'s order of evaluation
		args[i] = w.toFloat32(args[i])
		w.pin(args[i])
	}
	out := args[0].layerNorm(args[1], args[2])
	w.unpin(mark)
	return out
}

func (t *Tensor) layerNorm(weight, bias *Tensor) *Tensor {
	w := t.w
	n := w.record("NativeLayerNormBackward0", t, weight, bias)
	input := n.save(t)
	n.saveIf(weight != nil, weight)
	n.saveIf(bias != nil, bias)
	w.Op("native_layer_norm")
	c := t.Contiguous().Hold()
	out := w.Empty(t.size, t.dtype)
	stat := t.size.With(t.size.n-1, 1)
	mean := w.Empty(stat, Float32)
	rstd := w.Empty(stat, Float32)
	w.Launch(out, t)
	if c != t {
		c.Drop()
	} else {
		c.loosen()
	}
	m, r := n.save(mean), n.save(rstd)
	dropTemporaries(mean, rstd)
	n.backward(func(g *Tensor) []*Tensor {
		_, _ = m, r
		dx, dw, db := w.normGrad("native_layer_norm_backward", g, input.get(), weight, [3]bool{n.needsGrad(0), n.needsGrad(1), n.needsGrad(2)})
		return inputGrads(dx, dw, db)
	})
	return n.result(out, t)
}

// CrossEntropy is F.cross_entropy(logits, target) over class indices.
func (logits *Tensor) CrossEntropy(target *Tensor) *Tensor {
	defer logits.w.As(Logits)()
	w := logits.w
	mark := w.pin(logits, target)
	// Inside cross_entropy_loss the log-softmax keeps its argument's type even
	// under autocast; only the loss itself is cast to float32.
	p := logits.softmax("_log_softmax", "LogSoftmaxBackward0", logits.dtype)
	w.pin(p)
	q := w.toFloat32(p)
	w.pin(q)
	out := q.nll(target, CrossEntropyLoss{})
	w.unpin(mark)
	return out
}
