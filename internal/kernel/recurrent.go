// SPDX-License-Identifier: Apache-2.0

package kernel

// Recurrent layers with cuDNN 9.19, measured on an H200 over 2,700 layers; 600 of them are in
// testdata/recurrent.jsonl. The memory cuDNN keeps for the backward pass is exact (in two layers, within 44 bytes).
// Its workspace is 8 MiB for each layer and direction, a copy of the weights, and several buffers: some as large as
// the input of all steps, some as large as the output of one direction for all steps, some as large as a state.
// Several phases share this memory, so the largest phase determines its size. Nearly four in five workspaces are
// exact. The others are mostly deep layers with many steps, for which cuDNN needs up to a quarter less, and a few
// that need up to 4 % more.

// RecurrentLayer is a call of nn.LSTM, nn.GRU or nn.RNN.
type RecurrentLayer struct {
	Gates                             int    // 4 for an LSTM, 3 for a GRU, otherwise 1
	Input, Hidden                     int    // widths
	Layers, Directions                int    // Directions is 2 for a bidirectional layer
	Steps, Batch                      int    // sizes of the input: length and number of sequences
	Tokens                            int    // those of all sequences if the input is packed, otherwise 0
	Element                           uint64 // bytes of an element
	Dropout, Training, Backward, Flat bool   // Flat means that the weights are parts of one tensor
}

// buffers is the memory of one phase: the number of buffers of each size.
type buffers struct{ inputs, outputs, states int }

// small reports whether PyTorch requests cuDNN's persistent kernels for small states: use_rnn_persist_small_h in
// native/cudnn/RNN.cpp, 2.1 to 2.12. It is false unless the weights are parts of one tensor.
func (l RecurrentLayer) small() bool {
	limit := 192
	if l.Gates == 1 {
		limit = 384
	}
	if l.Backward {
		limit -= 64
		if l.Gates == 1 {
			limit = 256
		}
	}
	return l.Flat && l.Hidden <= limit
}

// phases returns the buffers of each phase. The first phase is the forward pass.
func (l RecurrentLayer) phases() []buffers {
	more := 0 // additional buffers between layers
	if l.Layers > 1 {
		more = 2
	}
	dropout := buffers{}
	if l.Dropout && l.Directions == 1 {
		dropout = map[int]map[bool]buffers{4: {false: {1, 6, 10}, true: {1, 22, 8}}, 3: {false: {1, 5, 5}, true: {1, 20, 6}}, 1: {false: {1, 5, 5}}}[l.Gates][l.small()]
	}
	switch small, both := l.small(), l.Directions == 2; {
	case l.Gates == 4 && !small && !both:
		return []buffers{{1, 5, 10}, {3, 3, 11}, dropout}
	case l.Gates == 4 && !both:
		return []buffers{{1, 21, 8}, {3, 18, 9}, dropout}
	case l.Gates == 4 && !small:
		return []buffers{{1, 14, 24}, {6, 6 + more, 26}}
	case l.Gates == 4:
		return []buffers{{1, 30, 18}, {6, 22 + more, 18}}
	case !small && !both:
		return []buffers{{1, 4, 5}, {2, 4, 5}, {3, 3, 5}, dropout}
	case l.Gates == 3 && !both:
		return []buffers{{2, 19, 6}, {3, 18, 6}, dropout}
	case l.Gates == 3 && !small:
		return []buffers{{1, 12, 14}, {4, 8 + more/2, 14}, {6, 6 + more, 14}}
	case l.Gates == 3:
		return []buffers{{2, 26, 14}, {4, 23, 14}, {6, 21 + more, 14}}
	case !both:
		return []buffers{{2, 14, 6}, {3, 13, 6}}
	case !small:
		return []buffers{{2, 10 + more, 14}, {4, 8 + more, 14}, {6, 6 + more, 14}}
	}
	return []buffers{{2, 19 + more, 14}, {4, 17 + more, 14}, {6, 15 + more, 14}}
}

// RecurrentWorkspace returns the bytes of the workspace.
func (r Rules) RecurrentWorkspace(l RecurrentLayer) Figure {
	phases := l.phases()
	lengths := uint64(8*l.Batch+31) / 32 * 32
	switch {
	case l.Tokens > 0:
		phases, lengths = []buffers{l.packed(phases[0])}, 0
	case !l.Training:
		phases = phases[:1]
	}
	fixed := uint64(l.Layers*l.Directions)<<23 + l.weights() + 256 + lengths
	n := fixed + l.widest(phases)*l.Element
	if !r.Known(Recurrences) || l.Layers == 1 || l.Directions == 2 || l.small() {
		return r.between(Recurrences, n, n/2, 2*n)
	}
	return Figure{N: n, Least: fixed + l.widest(l.inBlocks(phases))*l.Element, Most: n, Lacks: Recurrences}
}

// widest returns the elements of the largest phase.
func (l RecurrentLayer) widest(phases []buffers) uint64 {
	widest := 0
	for _, p := range phases {
		widest = max(widest, l.tokens()*(p.inputs*l.Input+p.outputs*l.Hidden)+l.Batch*p.states*l.Layers*l.Hidden)
	}
	return uint64(widest)
}

// inBlocks returns the phases of a stack of layers that runs in blocks of a few steps. All phases, or for a GRU all but
// the first, then need outputs of a block instead of some of all steps. When cuDNN does this, and how long the blocks are, is not known: without
// dropout it does for 100 steps of 8 sequences, but not for 32.
func (l RecurrentLayer) inBlocks(phases []buffers) []buffers {
	fewer := 1
	if l.Gates == 4 {
		fewer = 2
	}
	out := append([]buffers(nil), phases...)
	for i := range out {
		if i > 0 || l.Gates != 3 {
			out[i].outputs = max(out[i].outputs-fewer, 0)
		}
	}
	return out
}

// tokens returns the number of steps of all sequences.
func (l RecurrentLayer) tokens() int {
	if l.Tokens > 0 {
		return l.Tokens
	}
	return l.Steps * l.Batch
}

// packed returns the buffers of the forward pass over packed sequences, which is the largest phase: cuDNN does not copy the
// input, the output and the states to another layout. This was measured with bidirectional LSTMs.
func (l RecurrentLayer) packed(p buffers) buffers {
	copies := 2
	if l.Gates == 4 {
		copies = 4
	}
	return buffers{p.inputs - 1, p.outputs - l.Directions, p.states - copies*l.Directions}
}

// weights returns the bytes of all matrices, without biases.
func (l RecurrentLayer) weights() uint64 {
	first := l.Input + l.Hidden
	later := l.Hidden * (l.Directions + 1)
	return uint64(l.Directions*l.Gates*l.Hidden*(first+(l.Layers-1)*later)) * l.Element
}

// RecurrentReserve returns the bytes kept for the backward pass: the gates and the cell of every step, the values
// passed between layers, and the bits of the dropout masks between layers.
func (r Rules) RecurrentReserve(l RecurrentLayer) Figure {
	kept := map[int]int{4: 5, 3: 6, 1: 1}[l.Gates]
	elements := l.tokens() * l.Hidden * l.Directions
	n := uint64(kept*l.Layers+l.Layers-1)*uint64(elements)*l.Element + 256
	if l.Dropout {
		elements = l.Steps * l.Batch * l.Hidden * l.Directions // the masks cover padding too
		n += uint64((l.Layers-1)*l.Directions) * ((uint64(elements+7)/8 + 31) / 32 * 32)
	}
	return r.between(Recurrences, n, n-n/4, n+n/4)
}

// RecurrentDropout returns the bytes of the random state that the first dropout between layers allocates. The
// state is kept.
func (r Rules) RecurrentDropout() uint64 { return uint64(r.SMs) * (48 << 10) }
