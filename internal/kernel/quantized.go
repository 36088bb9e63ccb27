// SPDX-License-Identifier: Apache-2.0

package kernel

// bitsandbytes 0.50 multiplies by a quantized weight in one kernel if the input has few rows; otherwise it
// dequantizes the weight into memory first (backends/cuda/ops.py, _gemm_4bit_use_custom_cuda). Its authors measured
// the limits, by card and by shape. A test compares every limit with the original. Limits for more rows are in
// quantized_most.go.

const (
	fusedFloor   = 4    // with at most this many rows, the fused kernel is always used
	fusedMost    = 1536 // with more rows than this, the fused kernel is never used
	smallWeight  = 4 << 20
	fusedColumns = 64 // columns computed by a thread block
	quantBlock   = 64 // numbers that share a scale
)

// fusing is one product: rows of x times the weight (n, k), on a card.
type fusing struct {
	rows, n, k int
	blocks     int // number of thread blocks
	sms, arch  int
}

// Fuses4bit reports whether one kernel multiplies this many rows of type t by a quantized weight of n by
// k numbers.
func (r Rules) Fuses4bit(t Type, rows, n, k int) bool {
	if rows > fusedMost || k%quantBlock != 0 {
		return false
	}
	f := fusing{rows: rows, n: n, k: k, blocks: CeilDiv(n, fusedColumns), sms: r.SMs, arch: r.Capability}
	switch {
	case rows <= fusedFloor:
		return true
	case t == Float32, f.arch < 75, f.arch < 80 && t != Float16: // no kernel for tensor cores
		return rows < 8
	case f.arch == 87, f.arch/10 == 11: // not measured by the authors
		return false
	case f.arch/10 == 10:
		return f.blackwell()
	case n*k < smallWeight:
		return rows <= f.small()
	case rows > 512:
		return false
	case rows < 8:
		return f.few()
	}
	return rows <= f.most()
}

// hbm reports whether the card has high-bandwidth memory.
func (f fusing) hbm() bool { return f.arch == 80 || f.arch/10 == 9 }

// blackwell is Fuses4bit for data-center Blackwell cards, 10.0 and 10.3.
func (f fusing) blackwell() bool {
	switch {
	case f.blocks >= 3*f.sms:
		return f.rows <= 32
	case f.blocks >= f.sms && f.k < f.n:
		return f.rows <= 8
	}
	return false
}

// small returns the maximum number of rows for a weight of less than four million numbers.
func (f fusing) small() int {
	if 2*f.k < f.n {
		return f.smallFlat()
	}
	quarter := 4*f.blocks <= f.sms
	switch {
	case f.arch == 80 && quarter:
		switch {
		case f.k < f.n:
			return 384
		case 8*f.blocks <= f.sms:
			return 32
		}
		return 128
	case f.arch == 75 && f.blocks < f.sms && f.rows > 8:
		return 64
	case quarter && (f.k < f.n || f.hbm()):
		return 32
	case quarter:
		return 23
	case 2*f.blocks <= f.sms:
		return 16
	}
	return 0
}

// smallFlat is small for a weight with at least twice as many outputs as inputs.
func (f fusing) smallFlat() int {
	low := 3*f.blocks < f.sms
	switch {
	case f.arch == 80 && low:
		return 1536
	case f.arch == 80, f.hbm() && low:
		return 512
	case f.hbm():
		return 320
	case f.arch == 75 && f.blocks < 3*f.sms && f.k >= 1024:
		return 64
	case f.arch == 75 && f.blocks < 3*f.sms && f.k >= 704:
		return 96
	case f.arch != 75 && f.blocks < f.sms && f.blocks*f.k > f.sms*320:
		return 192
	}
	return 320
}

// few is Fuses4bit for 5 to 7 rows.
func (f fusing) few() bool {
	least := 48
	if f.arch/10 == 9 {
		least = 36
	}
	if !f.hbm() || f.rows < 6 || f.blocks < least {
		return true
	}
	under75, under60 := 4*f.blocks < 3*f.sms, 5*f.blocks < 3*f.sms
	switch {
	case f.k > f.n:
		return !under75
	case f.k == f.n && f.arch == 80:
		return !under60
	case f.k == f.n:
		return !under75 || under60
	}
	return true
}
