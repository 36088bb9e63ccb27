// SPDX-License-Identifier: Apache-2.0

package setup

// onWord notes what a setup says of a recorded run that its profile does not
// tell. Config files say such things whether anybody asks or not, so that it is
// no mistake; but no figure depends on it.
func (s *Setup) onWord(o *object, p Recorded) {
	for _, f := range []struct {
		field string
		told  bool
	}{
		{"precision", p.Precision != ""},
		{"optimizer", optimizerOf(p.Optimizer) != ""},
		{"checkpointing", p.Checkpointing != nil},
		{"attention", false},
		{"attention_mask", false},
		{"clip", false},
		{"lora", false},
		{"steps", false},
	} {
		if o.keys[f.field] != nil && !f.told {
			s.OnWord = append(s.OnWord, f.field)
		}
	}
}

// AsRecorded is the setup without what is there on the user's word alone: what
// may stand over its figures.
func (s *Setup) AsRecorded() *Setup {
	t := *s
	for _, field := range s.OnWord {
		switch field {
		case "seq":
			t.Seq = 0
		case "target_seq":
			t.TargetSeq = 0
		case "positives":
			t.Positives = 0
		case "negatives":
			t.Negatives = 0
		case "precision":
			t.Precision = ""
		case "optimizer":
			t.Optimizer = ""
		case "checkpointing":
			t.Checkpointing = false
		case "attention":
			t.Attention = ""
		case "clip":
			t.Clip = false
		case "lora":
			t.LoRA = nil
		}
	}
	return &t
}
