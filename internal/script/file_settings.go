// SPDX-License-Identifier: Apache-2.0

package script

// The sizes in a settings file that the script reads, and its switches for gradient checkpointing. A plan changes them in
// the file, so the script is followed with the setup's values in their place.

// checkpointingNames are the usual keys that turn gradient checkpointing on or off.
var checkpointingNames = map[string]bool{
	"gradient_checkpointing": true, "use_gradient_checkpointing": true, "grad_checkpointing": true, "activation_checkpointing": true,
	"use_checkpointing": true, "use_checkpoint": true,
}

// switchOf returns the value of a switch for gradient checkpointing: the planned one, if there is one. Any other value stays.
func (in *interpreter) switchOf(name string, v value) value {
	on, is := v.(bool)
	if !is || !checkpointingNames[name] || in.survey != nil {
		return v
	}
	in.result.Switched, in.result.Checkpointing = true, on
	if planned, ok := in.Planned["gradient_checkpointing"].(bool); ok {
		return planned
	}
	return v
}

// switchesOfFile replaces the switches for gradient checkpointing in a decoded file with the planned value.
func (in *interpreter) switchesOfFile(v value) {
	d, ok := v.(*dict)
	if !ok {
		return
	}
	for i, key := range d.keys {
		in.switchesOfFile(d.vals[i])
		if name, ok := key.(string); ok {
			d.vals[i] = in.switchOf(name, d.vals[i])
		}
	}
}

// accumulationNames are the usual keys for the number of backward passes per update.
var accumulationNames = map[string]bool{
	"gradient_accumulation_steps": true, "gradient_accumulation": true, "grad_accumulation_steps": true, "grad_accum_steps": true,
	"grad_accum": true, "accumulate_grad_batches": true, "accumulation_steps": true, "accum_steps": true, "accumulation": true,
}

// sizeKind is a kind of size in a settings file.
type sizeKind int

const (
	batchSize sizeKind = iota
	lengthSize
	accumulationSize
	sizeKinds // how many kinds there are
)

// kindOfSize returns the kind of a key's size by its usual name; ok is false for other keys.
func kindOfSize(name string) (kind sizeKind, ok bool) {
	for kind, names := range [sizeKinds]map[string]bool{batchNames, lengthNames, accumulationNames} {
		if names[name] {
			return sizeKind(kind), true
		}
	}
	return 0, false
}

// sizesOfFile records the sizes in a file in a survey, and otherwise replaces them with the setup's. If a file has several
// different sizes of a kind, such as a batch size for the evaluation, they are left as they are.
func (in *interpreter) sizesOfFile(v value, path string) {
	var found [sizeKinds][]fileSize
	findSizes(v, &found)
	for kind, sizes := range found {
		if len(sizes) == 0 || !allEqual(sizes) {
			continue
		}
		if in.survey != nil {
			in.sawSize(sizes[0].key, sizes[0].n, path)
			continue
		}
		for _, s := range sizes {
			if n := in.planned(sizeKind(kind), s); n > 0 {
				s.in.set(s.key, n)
			}
		}
	}
}

// planned returns the setup's size in place of a file's.
func (in *interpreter) planned(kind sizeKind, s fileSize) (n int) {
	if kind == accumulationSize {
		n, _ = in.Planned["gradient_accumulation_steps"].(int)
		return n
	}
	n, _ = in.sizeOfArgument(s.key, s.n, false).(int)
	return n
}

// fileSize is a size in a decoded file.
type fileSize struct {
	in  *dict
	key string
	n   int
}

// allEqual reports whether the sizes are the same.
func allEqual(sizes []fileSize) bool {
	for _, s := range sizes {
		if s.n != sizes[0].n {
			return false
		}
	}
	return true
}

// findSizes collects the values of keys with usual names for sizes.
func findSizes(v value, found *[sizeKinds][]fileSize) {
	d, ok := v.(*dict)
	if !ok {
		return
	}
	for i, key := range d.keys {
		n, whole := d.vals[i].(int)
		if !whole {
			findSizes(d.vals[i], found)
			continue
		}
		name, _ := key.(string)
		if kind, ok := kindOfSize(name); ok {
			found[kind] = append(found[kind], fileSize{d, name, n})
		}
	}
}
