// SPDX-License-Identifier: Apache-2.0

package catalog

import "testing"

// BenchmarkRead measures the first lookup of a name that is not among the originals.
func BenchmarkRead(b *testing.B) {
	for b.Loop() {
		modelsIn(lines, "name")
		modelsIn(variantLines, "hub")
	}
}

func BenchmarkFindVariant(b *testing.B) {
	for b.Loop() {
		Find("WinKawaks/vit-small-patch16-224")
	}
}

// BenchmarkAssume measures the lookup of a name that is compared with all others word by word.
func BenchmarkAssume(b *testing.B) {
	for b.Loop() {
		Assume("/data/models/Llama-2-7b-hf")
	}
}

func BenchmarkUnsimulated(b *testing.B) {
	for b.Loop() {
		Unsimulated("someone/a-name-that-nobody-knows-7b")
	}
}
