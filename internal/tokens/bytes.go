// SPDX-License-Identifier: Apache-2.0

package tokens

import "strings"

// byteChar is the character that GPT-2 uses for each byte: the byte itself if it is visible, otherwise a character
// from U+0100 on.
var byteChar = func() (out [256]rune) {
	next := rune(256)
	for b := range rune(256) {
		if b >= '!' && b <= '~' || b >= 0xA1 && b <= 0xAC || b >= 0xAE {
			out[b] = b
			continue
		}
		out[b] = next
		next++
	}
	return out
}()

// byteChars returns a text with each of its bytes written as a character.
func byteChars(text string) string {
	var b strings.Builder
	b.Grow(2 * len(text))
	for i := range len(text) {
		b.WriteRune(byteChar[text[i]])
	}
	return b.String()
}
