// SPDX-License-Identifier: Apache-2.0

package snapshot

// The opcodes that a snapshot needs: what CPython's pickler (protocols 2 to 5)
// and TorchScript's write for dicts, lists, tuples, strings and numbers.
const (
	opMark            = '('
	opStop            = '.'
	opNone            = 'N'
	opTrue            = 0x88
	opFalse           = 0x89
	opBinInt          = 'J'
	opBinInt1         = 'K'
	opBinInt2         = 'M'
	opLong1           = 0x8a
	opBinFloat        = 'G'
	opBinUnicode      = 'X'
	opShortBinUnicode = 0x8c
	opEmptyDict       = '}'
	opEmptyList       = ']'
	opEmptyTuple      = ')'
	opDict            = 'd'
	opList            = 'l'
	opTuple           = 't'
	opTuple1          = 0x85
	opTuple2          = 0x86
	opTuple3          = 0x87
	opAppend          = 'a'
	opAppends         = 'e'
	opSetItem         = 's'
	opSetItems        = 'u'
	opBinGet          = 'h'
	opLongBinGet      = 'j'
	opBinPut          = 'q'
	opLongBinPut      = 'r'
	opMemoize         = 0x94
	opProto           = 0x80
	opFrame           = 0x95
)

// refused names the opcodes that exist but have no place in a snapshot.
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

// Opcodes that name a function or a class; these say whom they would have called.
const (
	opGlobal      = 'c'
	opInst        = 'i'
	opStackGlobal = 0x93
)
