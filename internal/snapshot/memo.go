// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"encoding/binary"
	"slices"
)

// remember executes the opcodes that read or write the memo.
func (m *machine) remember(op byte) error {
	slot := len(m.memo)
	if op != opMemoize {
		width := 1
		if op == opLongBinGet || op == opLongBinPut {
			width = 4
		}
		b, err := m.take(width)
		if err != nil {
			return err
		}
		if slot = int(b[0]); width == 4 {
			slot = int(binary.LittleEndian.Uint32(b))
		}
	}
	if op == opBinGet || op == opLongBinGet {
		if slot >= len(m.memo) {
			return m.fail("memo slot %d is used before it is filled", slot)
		}
		m.stack = append(m.stack, m.memo[slot].value())
		return nil
	}
	return m.memoize(slot)
}

func (m *machine) memoize(slot int) error {
	if len(m.stack) == m.floor() {
		return m.fail("an opcode needs a value, but the stack is empty")
	}
	v := m.stack[len(m.stack)-1]
	if v.kind < vText {
		return m.fail("%v is stored in the memo, which a snapshot never does", v.kind)
	}
	switch r := refTo(v.kind, int(v.n)); {
	case v.n > refMax:
		return m.fail("too many objects")
	case slot < len(m.memo):
		m.memo[slot] = r
		m.forgetShapes()
	case slot == len(m.memo):
		m.name(r)
	default:
		return m.fail("memo slot %d is filled before slot %d", slot, len(m.memo))
	}
	return nil
}

// name puts r into the next memo slot. The memo doubles when it is full: every trace entry uses two slots, and
// growing in small steps would cost 20 % of the time.
func (m *machine) name(r ref) {
	if len(m.memo) == cap(m.memo) {
		m.memo = slices.Grow(m.memo, max(1024, len(m.memo)))
	}
	m.memo = append(m.memo, r)
}
