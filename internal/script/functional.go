// SPDX-License-Identifier: Apache-2.0

package script

import (
	"snug/internal/shadow"
)

// torch.nn.functional, and torch functions that compute. Those that are also tensor methods are only listed here,
// and call the method in tensor_methods.go. Functions that make, save and load tensors are in torch.go.

func registerFunctional() {
	for name, f := range map[string]func(*interpreter, arguments) value{
		"linear": linear, "embedding": embedding, "layer_norm": layerNorm, "dropout": dropout,
		"cross_entropy": crossEntropy, "nll_loss": nllLoss, "kl_div": klDiv, "normalize": normalize,
		"mse_loss": distance("mse_loss"), "l1_loss": distance("l1_loss"), "smooth_l1_loss": distance("smooth_l1_loss"), "huber_loss": distance("huber_loss"),
		"binary_cross_entropy": bce, "binary_cross_entropy_with_logits": bceWithLogits, "cosine_similarity": cosineSimilarity,
		"pairwise_distance": pairwiseDistance, "triplet_margin_loss": tripletMargin, "one_hot": oneHot,
		"gelu": activation((*shadow.Tensor).GELU), "tanh": activation((*shadow.Tensor).Tanh),
		"relu": relu, "sigmoid": activation((*shadow.Tensor).Sigmoid), "softplus": activation((*shadow.Tensor).Softplus),
		"logsigmoid": activation((*shadow.Tensor).LogSigmoid),
		"softmax":    onTensor("softmax"), "log_softmax": onTensor("log_softmax"),
	} {
		natives["torch.nn.functional."+name] = f
	}
	for _, name := range []string{
		"gather", "index_select", "masked_fill", "clamp", "logsumexp", "norm", "std", "var", "min", "amax", "amin", "prod",
		"abs", "log", "sqrt", "rsqrt", "pow", "square", "reciprocal", "neg", "cos", "sin", "sign", "isnan", "isinf", "isfinite", "logical_not", "round", "floor", "ceil",
		"topk", "sort", "argsort", "msort", "cumsum", "flip", "roll", "tril", "triu", "repeat_interleave", "split", "chunk", "unbind", "flatten", "squeeze", "unsqueeze",
		"transpose", "permute", "reshape", "any", "all", "add", "sub", "mul", "div", "matmul", "mm", "bmm", "eq", "ne", "lt", "gt", "le", "ge", "maximum", "minimum",
		"nan_to_num", "diag", "diagonal", "logical_and", "logical_or", "where", "argmin", "clone", "bernoulli", "log1p", "expm1", "erf", "relu", "count_nonzero", "dot", "t", "multinomial", "relu_", "sigmoid_", "tanh_",
	} {
		if _, ok := natives["torch."+name]; !ok {
			natives["torch."+name] = onTensor(name)
		}
	}
	natives["torch.where"] = where
	natives["torch.nonzero"] = onTensor("nonzero")
	natives["torch.linalg.norm"] = onTensor("norm")
	natives["torch.linalg.vector_norm"] = vectorNorm
	natives["torch.nn.functional.gumbel_softmax"] = unfollowed("gumbel_softmax")
	natives["torch.einsum"] = einsum
	natives["torch.cdist"] = cdist
	natives["torch.cosine_similarity"] = cosineSimilarity
	natives["torch.dropout"] = dropout
	natives["torch.randint_like"] = filledLike
	natives["snug.rnn"] = recurrent
	natives["snug.embedding_bag"] = embeddingBag
	natives["snug.fail"] = func(in *interpreter, a arguments) value {
		text, _ := a.or(0, "", "").(string)
		in.fail("%s; record the run: snug profile -- python3 %s", text, in.File.Path)
		return nil
	}
	natives["snug.packed"] = packPadded
	natives["snug.pad_packed"] = padPacked
	natives["torch.lstm_cell"] = lstmCell
	natives["torch.gru_cell"] = gruCell
	for name, dt := range map[string]shadow.DType{"LongTensor": shadow.Int64, "IntTensor": shadow.Int32, "ShortTensor": shadow.Int16, "CharTensor": shadow.Int8, "ByteTensor": shadow.UInt8, "FloatTensor": shadow.Float32, "HalfTensor": shadow.Float16, "BoolTensor": shadow.Bool, "DoubleTensor": shadow.Float64} {
		natives["torch."+name] = tensorClass(dt)
	}
}

// manyRows is the number of rows beyond which torch.cdist uses a matrix product for Euclidean distances.
const manyRows = 25

// cdist implements torch.cdist(x1, x2, p).
func cdist(in *interpreter, a arguments) value {
	x, okX := a.or(0, "x1", nil).(*shadow.Tensor)
	y, okY := a.or(1, "x2", nil).(*shadow.Tensor)
	if !okX || !okY || x.Dim() < 2 || x.Dim() != y.Dim() {
		in.noteTensors("torch.cdist", a)
		return unknown{}
	}
	p, known := number(a.or(2, "p", 2.0))
	exact := a.or(3, "compute_mode", nil) == "donot_use_mm_for_euclid_dist"
	many := x.Size(-2) > manyRows || y.Size(-2) > manyRows
	return x.Cdist(y, known && p == 2 && many && !exact).Hold()
}

// unfollowed returns a function that only adds a note if an argument is a tensor.
func unfollowed(name string) func(*interpreter, arguments) value {
	return func(in *interpreter, a arguments) value {
		in.noteTensors(name, a)
		return unknown{}
	}
}

// card returns an argument if it is a tensor on the card.
func card(a arguments, i int, name string) (*shadow.Tensor, bool) {
	t, ok := a.or(i, name, nil).(*shadow.Tensor)
	return t, ok && t.Here()
}

// optional returns a tensor argument, or nil if it is None.
func optional(a arguments, i int, name string) *shadow.Tensor {
	t, _ := a.or(i, name, nil).(*shadow.Tensor)
	return t
}

// reduction returns the reduction argument of a loss.
func reduction(a arguments, i int) string {
	if s, ok := a.or(i, "reduction", "mean").(string); ok {
		return s
	}
	return "mean"
}

func linear(in *interpreter, a arguments) value {
	x, ok := card(a, 0, "input")
	weight, okW := card(a, 1, "weight")
	if !ok || !okW {
		return unknown{}
	}
	return x.Linear(weight, optional(a, 2, "bias")).Hold()
}

func embedding(in *interpreter, a arguments) value {
	ids, ok := card(a, 0, "input")
	table, okT := card(a, 1, "weight")
	if !ok || !okT {
		return unknown{}
	}
	return ids.Embedding(table).Hold()
}

func layerNorm(in *interpreter, a arguments) value {
	x, ok := card(a, 0, "input")
	if !ok {
		return unknown{}
	}
	if l, ok := a.or(1, "normalized_shape", nil).(*list); ok && len(l.items) > 1 {
		in.note("a layer norm over several dimensions is counted as if it were over the last one only")
	}
	return x.LayerNorm(optional(a, 2, "weight"), optional(a, 3, "bias")).Hold()
}

// dropout implements F.dropout(input, p, training). Outside training it returns its input.
func dropout(in *interpreter, a arguments) value {
	x, ok := card(a, 0, "input")
	if !ok {
		return hold(a.or(0, "input", unknown{}))
	}
	if on, ok := a.or(2, "training", true).(bool); ok && !on {
		return x.Hold()
	}
	p, known := number(a.or(1, "p", 0.5))
	if !known {
		p = 0.5
	}
	if inPlace, _ := a.or(3, "inplace", false).(bool); inPlace {
		return x.DropoutInPlace(p).Hold()
	}
	return x.Dropout(p).Hold()
}

func activation(f func(*shadow.Tensor) *shadow.Tensor) func(*interpreter, arguments) value {
	return func(in *interpreter, a arguments) value {
		x, ok := card(a, 0, "input")
		if !ok {
			return hold(a.or(0, "input", unknown{}))
		}
		return f(x).Hold()
	}
}

// relu implements F.relu(input, inplace).
func relu(in *interpreter, a arguments) value {
	x, ok := card(a, 0, "input")
	if inPlace, _ := a.or(1, "inplace", false).(bool); ok && inPlace {
		return x.ActivationInPlace("threshold").Hold()
	}
	return activation((*shadow.Tensor).ReLU)(in, a)
}

func normalize(in *interpreter, a arguments) value {
	x, ok := card(a, 0, "input")
	if !ok {
		return hold(a.or(0, "input", unknown{}))
	}
	dim, _ := a.or(2, "dim", 1).(int)
	if p, ok := number(a.or(1, "p", 2)); ok && p != 2 {
		in.note("normalize with p other than 2 is counted as if p were 2")
	}
	return x.NormalizeOver(dim).Hold()
}

func crossEntropy(in *interpreter, a arguments) value {
	x, okX := card(a, 0, "input")
	y, okY := card(a, 1, "target")
	if !okX || !okY {
		return unknown{}
	}
	smoothing, _ := number(a.or(7, "label_smoothing", 0))
	return x.CrossEntropyOf(y, shadow.CrossEntropyLoss{
		Reduction: reduction(a, 6), Smooth: smoothing != 0, Weight: optional(a, 2, "weight"),
	}).Hold()
}

func nllLoss(in *interpreter, a arguments) value {
	x, okX := card(a, 0, "input")
	y, okY := card(a, 1, "target")
	if !okX || !okY {
		return unknown{}
	}
	return x.NLL(y, shadow.CrossEntropyLoss{Reduction: reduction(a, 6), Weight: optional(a, 2, "weight")}).Hold()
}

// distance implements F.mse_loss and similar losses.
func distance(op string) func(*interpreter, arguments) value {
	return func(in *interpreter, a arguments) value {
		x, okX := card(a, 0, "input")
		y, okY := card(a, 1, "target")
		if !okX || !okY {
			return unknown{}
		}
		reduction := reduction(a, 4)
		if op == "mse_loss" || op == "smooth_l1_loss" { // these broadcast both tensors, and then use a single kernel
			wide := shadow.Broadcast(x.Shape(), y.Shape())
			return x.ExpandAs(wide).MSELoss(y.ExpandAs(wide), reduction).Hold()
		}
		return x.Distance(op, y, reduction).Hold()
	}
}

func klDiv(in *interpreter, a arguments) value {
	x, okX := card(a, 0, "input")
	y, okY := card(a, 1, "target")
	if !okX || !okY {
		return unknown{}
	}
	logs, _ := a.or(5, "log_target", false).(bool)
	return x.KLDivOf(y, reduction(a, 4), logs).Hold()
}

func bceWithLogits(in *interpreter, a arguments) value {
	x, okX := card(a, 0, "input")
	y, okY := card(a, 1, "target")
	if !okX || !okY {
		return unknown{}
	}
	return x.BCEWithLogits(y, optional(a, 2, "weight"), optional(a, 6, "pos_weight"), reduction(a, 5)).Hold()
}

func bce(in *interpreter, a arguments) value {
	x, okX := card(a, 0, "input")
	y, okY := card(a, 1, "target")
	if !okX || !okY {
		return unknown{}
	}
	if in.World.AutocastType() != shadow.None {
		in.fail("PyTorch does not allow binary_cross_entropy under autocast; use binary_cross_entropy_with_logits")
	}
	return x.BCE(y, optional(a, 2, "weight"), reduction(a, 5)).Hold()
}

func cosineSimilarity(in *interpreter, a arguments) value {
	x, okX := card(a, 0, "x1")
	y, okY := card(a, 1, "x2")
	if !okX || !okY {
		return unknown{}
	}
	dim, _ := a.or(2, "dim", 1).(int)
	return x.CosineSimilarity(y, dim).Hold()
}

func pairwiseDistance(in *interpreter, a arguments) value {
	x, okX := card(a, 0, "x1")
	y, okY := card(a, 1, "x2")
	if !okX || !okY {
		return unknown{}
	}
	keep, _ := a.or(4, "keepdim", false).(bool)
	return x.PairwiseDistance(y, keep).Hold()
}

func tripletMargin(in *interpreter, a arguments) value {
	x, okX := card(a, 0, "anchor")
	p, okP := card(a, 1, "positive")
	n, okN := card(a, 2, "negative")
	if !okX || !okP || !okN {
		return unknown{}
	}
	swap, _ := a.or(6, "swap", false).(bool)
	return x.TripletMargin(p, n, swap, reduction(a, 9)).Hold()
}

func oneHot(in *interpreter, a arguments) value {
	t, ok := card(a, 0, "tensor")
	classes, known := a.or(1, "num_classes", -1).(int)
	if !ok || !known || classes < 1 {
		in.noteTensors("one_hot without a number of classes", a)
		return unknown{}
	}
	return t.OneHot(classes).Hold()
}

// where implements torch.where(condition, input, other). input and other may be numbers.
func where(in *interpreter, a arguments) value {
	if mask, ok := card(a, 0, "condition"); ok && len(a.pos)+len(a.named) == 1 {
		return in.nonzero(mask, true)
	}
	cond, ok := card(a, 0, "condition")
	x, okX := card(a, 1, "input")
	y, okY := card(a, 2, "other")
	switch {
	case !ok && !okX && !okY:
		return hostWhere(a)
	case !ok || !okX && !okY:
		in.noteTensors("torch.where", a)
		return unknown{}
	case okX && okY:
		return shadow.WhereGrad(cond, x, y).Hold()
	case okY:
		return shadow.Where(cond, y).Hold()
	}
	return shadow.Where(cond, x).Hold()
}

func vectorNorm(in *interpreter, a arguments) value {
	x, ok := card(a, 0, "x")
	if !ok {
		return unknown{}
	}
	keep, _ := a.or(3, "keepdim", false).(bool)
	return x.NormOver(keep, dimsOf(a.or(2, "dim", nil), x.Dim())...).Hold()
}

// tensorClass implements torch.LongTensor and similar classes, called with a list or with sizes.
func tensorClass(dt shadow.DType) func(*interpreter, arguments) value {
	return func(in *interpreter, a arguments) value {
		if _, sized := a.or(0, "", nil).(int); sized {
			if size := sizes(a); size != nil {
				return &hostTensor{size: size, dtype: dt}
			}
			return unknown{}
		}
		return newTensor(in, arguments{pos: a.pos, names: []string{"dtype"}, named: []value{dtypeValue(dt)}})
	}
}

// multinomial implements torch.multinomial(input, num_samples, replacement).
func multinomial(in *interpreter, t *shadow.Tensor, a arguments) value {
	count, ok := a.or(0, "num_samples", nil).(int)
	if !ok {
		in.noteTensors("multinomial", arguments{pos: []value{t}})
		return unknown{}
	}
	replacement, _ := a.or(1, "replacement", false).(bool)
	return t.Multinomial(count, replacement).Hold()
}

// embeddingBag implements snug.embedding_bag(ids, table, offsets, bags).
func embeddingBag(in *interpreter, a arguments) value {
	ids, okI := card(a, 0, "")
	table, okT := card(a, 1, "")
	offsets, okO := card(a, 2, "")
	bags, okB := a.or(3, "", nil).(int)
	if !okI || !okT || !okO || !okB {
		in.noteTensors("embedding_bag", a)
		return unknown{}
	}
	return ids.EmbeddingBag(table, offsets, bags).Hold()
}
