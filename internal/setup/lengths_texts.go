// SPDX-License-Identifier: Apache-2.0

package setup

// Notes on tokens that are not counted.
const (
	noTemplate = "the chat template is not evaluated: only the contents of messages are counted, so real samples are longer"
	noPrompt   = "the words that a template puts around instruction, input and output are not counted, so real samples are longer"
)

// texts returns the texts of a sample and the field that contains them, for the usual dataset formats; key is "" if
// there are none.
func (d *dataFile) texts(v map[string]any) (key string, parts []string) {
	for _, key := range []string{"messages", "conversations", "conversation"} {
		if list, ok := v[key].([]any); ok {
			d.note(noTemplate)
			return key, contents(list)
		}
	}
	if key, parts := d.pair(v, "prompt", "completion"); key != "" {
		return key, parts
	}
	for _, key := range []string{"text", "content"} {
		if text, ok := v[key].(string); ok {
			return key, []string{text}
		}
	}
	if _, ok := v["instruction"].(string); !ok {
		return "", nil
	}
	d.note(noPrompt)
	for _, key := range []string{"instruction", "input", "output"} {
		if text, ok := v[key].(string); ok && text != "" {
			parts = append(parts, text)
		}
	}
	return "instruction", parts
}

// pair returns a question and its answer as one text; each may be a list of messages.
func (d *dataFile) pair(v map[string]any, first, second string) (key string, parts []string) {
	switch a := v[first].(type) {
	case string:
		b, _ := v[second].(string)
		return first, []string{a + b}
	case []any:
		b, _ := v[second].([]any)
		d.note(noTemplate)
		return first, append(contents(a), contents(b)...)
	}
	return "", nil
}

// contents returns the contents of messages: texts, or lists of parts with texts.
func contents(list []any) (out []string) {
	for _, m := range list {
		fields, _ := m.(map[string]any)
		for _, key := range []string{"content", "value", "text"} {
			switch c := fields[key].(type) {
			case string:
				out = append(out, c)
			case []any:
				out = append(out, contents(c)...)
			}
		}
	}
	return out
}
