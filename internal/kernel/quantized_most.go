// SPDX-License-Identifier: Apache-2.0

package kernel

// most returns the maximum number of rows, from 8 to 512, for a weight that is not small.
func (f fusing) most() int {
	switch {
	case f.arch == 75:
		return f.turing()
	case f.arch == 80:
		return f.a100()
	case f.arch == 86:
		return pick(f.blocks >= f.sms, 128, pick(f.blocks >= f.sms/2, 64, 16))
	case f.arch/10 == 9:
		return f.hopper()
	case f.arch == 121 && f.blocks >= f.sms:
		return 256
	case f.arch == 120:
		return f.geforce50()
	}
	return f.ada()
}

// pick returns yes if cond is true, otherwise no.
func pick(cond bool, yes, no int) int {
	if cond {
		return yes
	}
	return no
}

func (f fusing) turing() int {
	switch {
	case f.blocks >= 3*f.sms:
		return pick(f.k < f.n, 128, 64)
	case f.blocks >= f.sms/2:
		return 64
	}
	return 32
}

func (f fusing) a100() int {
	switch {
	case f.blocks >= 3*f.sms:
		return 128
	case f.blocks >= f.sms:
		return pick(f.k < f.n, 64, 32)
	case f.k >= 3*f.n && 4*f.blocks > f.sms:
		return 0
	case f.k == f.n && f.blocks >= 48 && 5*f.blocks < 3*f.sms:
		return 0
	case 2*f.blocks < f.sms && f.k <= f.n:
		return 128
	case 2*f.blocks < f.sms && 3*f.blocks >= f.sms:
		return 0
	case f.blocks >= f.sms/2 && f.k < f.n:
		return 128
	}
	return 16
}

func (f fusing) hopper() int {
	switch {
	case f.blocks >= 3*f.sms:
		return 64
	case f.blocks >= 2*f.sms:
		return 48
	case f.blocks >= f.sms:
		return 32
	case f.blocks < f.sms/2, f.k >= f.n && 4*f.blocks < 3*f.sms:
		return 0
	}
	return 16
}

func (f fusing) geforce50() int {
	switch {
	case f.blocks >= 3*f.sms:
		return 256
	case f.blocks >= 2*f.sms:
		return 128
	case 5*f.blocks >= 4*f.sms:
		return pick(f.k >= f.n, 96, 64)
	case f.blocks >= f.sms/2:
		return pick(2*f.k >= f.n && f.blocks >= 128, 64, 8)
	}
	return pick(f.k > 2*f.n && f.blocks > 64, 16, 8)
}

// ada returns the maximum number of rows for 8.9, and for unknown cards.
func (f fusing) ada() int {
	tall := f.k > 2*f.n
	switch {
	case f.blocks >= 3*f.sms:
		return 256
	case f.blocks >= 2*f.sms:
		return 128
	case 5*f.blocks >= 4*f.sms:
		if tall || f.blocks >= 200 {
			return 128
		}
		return pick(f.k >= f.n, pick(f.sms >= 60, 128, 32), 64)
	case f.blocks >= f.sms/2:
		return pick(tall, 64, pick(f.blocks >= 64, 8, 32))
	case f.k > f.n && f.blocks <= 48:
		return pick(f.k >= 3*f.n, 12, 10)
	}
	return pick(tall || f.blocks < 48, 16, 8)
}
