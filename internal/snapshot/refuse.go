// SPDX-License-Identifier: Apache-2.0

package snapshot

// refuse returns the error for an opcode that a snapshot does not need.
func (m *machine) refuse(op byte) error {
	m.pos-- // the message points at the opcode
	switch op {
	case opGlobal, opInst:
		m.pos++
		module, name := m.line(), m.line()
		return m.fail("calls %s.%s; a snapshot never does", module, name)
	case opStackGlobal:
		return m.fail("calls %s.%s; a snapshot never does", m.under(2), m.under(1))
	}
	if name, ok := refused[op]; ok {
		return m.fail("opcode %s has no place in a snapshot", name)
	}
	return m.fail("%#02x is not a pickle opcode", op)
}

// line reads a line of at most 80 characters, for a message.
func (m *machine) line() string {
	var s []byte
	for len(s) < 80 {
		b, err := m.take(1)
		if err != nil || b[0] == '\n' {
			break
		}
		s = append(s, b[0])
	}
	return printable(string(s))
}

// under returns the string i places below the top of the stack, for a message.
func (m *machine) under(i int) string {
	if at := len(m.stack) - i; at >= 0 && m.stack[at].kind == vText {
		return printable(m.texts[m.stack[at].n])
	}
	return "?"
}

// refused names the opcodes that exist but that a snapshot does not need.
var refused = map[byte]string{
	'R': "REDUCE", 'b': "BUILD", 'o': "OBJ", 0x81: "NEWOBJ", 0x92: "NEWOBJ_EX",
	'P': "PERSID", 'Q': "BINPERSID", 0x82: "EXT1", 0x83: "EXT2", 0x84: "EXT4",
	'I': "INT", 'L': "LONG", 'F': "FLOAT", 'S': "STRING", 'V': "UNICODE",
	'T': "BINSTRING", 'U': "SHORT_BINSTRING", 'B': "BINBYTES", 'C': "SHORT_BINBYTES",
	0x8b: "LONG4", 0x8d: "BINUNICODE8", 0x8e: "BINBYTES8", 0x96: "BYTEARRAY8",
	0x8f: "EMPTY_SET", 0x90: "ADDITEMS", 0x91: "FROZENSET",
	'g': "GET", 'p': "PUT", '0': "POP", '1': "POP_MARK", '2': "DUP",
	0x97: "NEXT_BUFFER", 0x98: "READONLY_BUFFER",
}

// Opcodes that name a function or class, which messages include.
const (
	opGlobal      = 'c'
	opInst        = 'i'
	opStackGlobal = 0x93
)
