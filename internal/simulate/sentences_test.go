// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"strings"
	"testing"

	"snug/internal/setup"
)

// TestSentenceLoop compares the loop named sentence-transformers with a measured program, and checks that other
// loops, which take the loss from the model, refuse an encoder.
func TestSentenceLoop(t *testing.T) {
	s := sentenceSetup(&setup.Setup{Steps: 3, Optimizer: "adamw", Clip: true}, func(...string) string { return "" })
	for _, p := range programs(t, "measured_libraries.jsonl") {
		if p.ID != "sentence-transformers-mnrl" {
			continue
		}
		s.Loop, s.Script = setup.SentenceLoop, &setup.Script{Name: setup.SentenceLoop}
		res, err := Run(s, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := played(t, res).PeakReserved; got != p.Measured.Reserved || len(s.Script.Notes()) > 0 {
			t.Errorf("it reserves %d bytes, measured %d; notes %q", got, p.Measured.Reserved, s.Script.Notes())
		}
	}
	s.Loop, s.Script = "script", &setup.Script{Name: "script"}
	if _, err := Run(s, Options{}); err == nil || !strings.Contains(err.Error(), "an encoder returns no loss") {
		t.Errorf("an encoder in a tutorial's loop: %v", err)
	}
}

// TestSentenceLosses checks that losses are followed without a note, and that three texts take more memory than
// two.
func TestSentenceLosses(t *testing.T) {
	peak := map[string]uint64{}
	for _, loss := range []string{"mnrl", "cosine", "cosent", "triplet", "mnrl3", "contrastive", "softmax", "margin", "matryoshka"} {
		p := program{Program: "sentence_transformers/train.py", Args: []any{"--layers", 2, "--batch-size", 8, "--seq-len", 64, "--loss", loss}}
		s := p.setup(t)
		res, err := Run(s, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if notes := s.Script.Notes(); len(notes) > 0 {
			t.Errorf("%s: %q", loss, notes)
		}
		peak[loss] = played(t, res).PeakAllocated
	}
	if peak["triplet"] <= peak["cosent"] || peak["mnrl3"] <= peak["mnrl"] || peak["margin"] <= peak["cosine"] {
		t.Errorf("three texts take no more than two: %v", peak)
	}
}
