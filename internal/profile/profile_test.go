// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"fmt"
	"testing"

	"snug/internal/setup"
	"snug/internal/simulate"
	"snug/internal/snapshot"
	"snug/internal/stream"
)

// recording returns a trace in the form of a recording.
func recording(t *stream.Trace) *snapshot.Recording {
	return &snapshot.Recording{
		Torch: "2.11", Settings: snapshot.Settings{MaxSplitSize: -1}, Stacks: [][]uint32{nil},
		Devices: []snapshot.Device{{Trace: t, Entries: len(t.Events)}},
	}
}

// at returns a recording at a batch size.
func at(batch int64, t *stream.Trace) Input {
	return Input{Name: fmt.Sprintf("b%d.pickle", batch), At: Point{"batch": batch}, Recording: recording(t)}
}

func fitted(t testing.TB, inputs ...Input) *Program {
	t.Helper()
	p, err := Fit(inputs)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// transformer returns a small encoder's training step.
func transformer(batch int64) Input {
	return at(batch, simulated(map[string]any{
		"model": map[string]any{"config": map[string]any{
			"model_type": "bert", "hidden_size": 64.0, "num_hidden_layers": 2.0, "num_attention_heads": 4.0,
			"intermediate_size": 128.0, "vocab_size": 1000.0,
		}, "head": "masked-lm"},
		"seq": 128.0, "precision": "amp-bf16", "batch": float64(batch), "steps": 2.0,
	}))
}

// simulated returns the stream of a setup.
func simulated(fields map[string]any) *stream.Trace {
	s, err := setup.Decode(fields, setup.Source{})
	if err != nil {
		panic(err)
	}
	r, err := simulate.Run(s, simulate.Options{})
	if err != nil {
		panic(err)
	}
	return r.World.Trace
}
