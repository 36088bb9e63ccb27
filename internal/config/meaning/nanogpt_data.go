// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path"
)

// nanoVocabulary is GPT-2's 50257 filled up to a multiple of 64, as models from scratch
// have it unless their data brings its own.
const nanoVocabulary, gpt2Vocabulary = 50304, 50257

// nanoCharacters is how many characters there are in data that nanoGPT prepares by
// itself (data/shakespeare_char/prepare.py).
var nanoCharacters = map[string]int{"shakespeare_char": 65}

// nanoTokens is how many tokens a model from scratch knows: train.py looks for them in
// a meta.pkl beside the data. The warning is that there is one which does not say.
func (p *Run) nanoTokens() (n int, warning string) {
	dataset, _ := p.ValueOrDefault("shape.dataset").(string)
	name := path.Join("data", dataset, "meta.pkl")
	data, err := p.Files().ReadFile(name)
	n = pickledVocabulary(data)
	switch {
	case n > 0:
		return n, ""
	case nanoCharacters[dataset] > 0:
		return nanoCharacters[dataset], ""
	case err == nil:
		warning = fmt.Sprintf("%s: no vocab_size could be read here, which the model has its tokens from; %d are counted", name, nanoVocabulary)
	}
	return nanoVocabulary, warning
}

// pickledVocabulary is the number behind the key vocab_size in a dict that pickle.dump
// wrote, 0 where there is none. It looks at those bytes alone and builds nothing.
func pickledVocabulary(data []byte) int {
	_, after, _ := bytes.Cut(data, []byte("vocab_size"))
	if memo, ok := bytes.CutPrefix(after, []byte{0x94}); ok { // MEMOIZE, from protocol 4 on
		after = memo
	} else if len(after) > 1 && after[0] == 'q' { // BINPUT and its place
		after = after[2:]
	}
	if len(after) == 0 {
		return 0
	}
	bytesOf := map[byte]int{'K': 1, 'M': 2, 'J': 4}[after[0]] // BININT1, BININT2, BININT
	if bytesOf == 0 || len(after) <= bytesOf {
		return 0
	}
	var number [4]byte
	copy(number[:], after[1:1+bytesOf])
	return max(0, int(int32(binary.LittleEndian.Uint32(number[:]))))
}

// nanoWarnings are those of nanoGPT.
func (p *Run) nanoWarnings() []string {
	if _, loaded := p.nanoLoads(); p.Trainer().OwnModel == "" || loaded {
		return nil
	}
	if _, warning := p.nanoTokens(); warning != "" {
		return []string{warning}
	}
	return nil
}
