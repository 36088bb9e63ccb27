// SPDX-License-Identifier: Apache-2.0

package script

// pads implements F.pad(input, pad, mode).
func pads(in *interpreter, a arguments) value {
	x, ok := card(a, 0, "input")
	widths := numbersOf(a.or(1, "pad", nil))
	mode, known := a.or(2, "mode", "constant").(string)
	if !ok || !known || len(widths) == 0 || len(widths)%2 == 1 || len(widths) > 2*x.Dim() || mode == "circular" {
		in.noteTensors("this padding", a)
		return unknown{}
	}
	var before, after []int
	for i := 0; i < len(widths); i += 2 {
		before, after = append(before, widths[i]), append(after, widths[i+1])
	}
	switch mode {
	case "reflect":
		return x.PadMirrored("reflection_pad", before, after).Hold()
	case "replicate":
		return x.PadMirrored("replication_pad", before, after).Hold()
	}
	return x.PadDims(before, after).Hold()
}

// numbersOf returns the integers of a list, tuple or size, or nil if one is unknown.
func numbersOf(v value) []int {
	switch v := v.(type) {
	case *list:
		return ints(v.items)
	case sizeValue:
		return v
	}
	return nil
}
