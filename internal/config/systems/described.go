// SPDX-License-Identifier: Apache-2.0

package systems

// described is a section with the sizes of a model. A key that is missing or null has its default.
type described struct {
	values map[string]any
	wrong  string // the first key with a value of the wrong kind
}

// number returns a number. In a section, all numbers are float64, as in a config.json.
func (d *described) number(key string, otherwise float64) float64 { return valueOf(d, key, otherwise) }

func (d *described) on(key string, otherwise bool) bool { return valueOf(d, key, otherwise) }

func (d *described) word(key, otherwise string) string { return valueOf(d, key, otherwise) }

func valueOf[T any](d *described, key string, otherwise T) T {
	switch v := d.values[key].(type) {
	case nil:
		return otherwise
	case T:
		return v
	}
	if d.wrong == "" {
		d.wrong = key
	}
	return otherwise
}
