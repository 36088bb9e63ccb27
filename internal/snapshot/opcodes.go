// SPDX-License-Identifier: Apache-2.0

package snapshot

// The opcodes that a snapshot needs: the ones that CPython's pickler (protocols 2 to 5) and TorchScript's pickler
// write for dicts, lists, tuples, strings and numbers.
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
