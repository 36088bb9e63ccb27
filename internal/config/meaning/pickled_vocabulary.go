// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"bytes"
	"encoding/binary"
)

// pickledVocabulary returns the number after the key vocab_size in a dict that pickle.dump wrote, or 0. It
// looks only at those bytes and builds no objects.
func pickledVocabulary(data []byte) int {
	_, after, _ := bytes.Cut(data, []byte("vocab_size"))
	if memo, ok := bytes.CutPrefix(after, []byte{0x94}); ok { // MEMOIZE, from protocol 4 on
		after = memo
	} else if len(after) > 1 && after[0] == 'q' { // BINPUT and its index
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
