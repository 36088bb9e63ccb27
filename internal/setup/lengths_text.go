// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"strconv"
	"strings"
)

// lengthsText reads lengths from a flag or a string: numbers, a distribution, or a file.
func (o *object) lengthsText(key, text string, l *Lengths) {
	kind, rest, named := strings.Cut(text, ":")
	switch {
	case named && kind == "uniform":
		o.distribution(key, map[string]any{"uniform": numbers(rest, "-")}, l)
	case named && kind == "lognormal":
		n := numbers(rest, ",")
		if len(n) != 3 {
			o.fail(key, " %q must be a median, a sigma and a maximum, such as lognormal:160,0.6,1024", text)
			return
		}
		o.distribution(key, map[string]any{"lognormal": map[string]any{"median": n[0], "sigma": n[1], "max": n[2]}}, l)
	case named && kind == "histogram":
		var list []any
		for _, bucket := range strings.Split(rest, ",") {
			list = append(list, numbers(bucket, "="))
		}
		o.distribution(key, map[string]any{"histogram": list}, l)
	case strings.Trim(text, "0123456789, ") == "" && text != "", strings.HasPrefix(text, "-") && strings.Trim(text, "-0123456789, ") == "":
		l.Each = o.eachLength(key, numbers(text, ","))
	case !strings.ContainsAny(text, "./\\"):
		o.fail(key, " %q is neither a list such as 128,512, nor a distribution such as uniform:64-512 (or lognormal, histogram), nor a file such as lengths.txt", text)
	default:
		l.file = text
	}
}

// AreSamples reports whether lengths given by a flag are read from a file of samples. A seq from the config files can truncate those; it has no effect on other lengths.
func AreSamples(text string) bool {
	l := &Lengths{}
	(&object{}).lengthsText("lengths", text, l)
	return l.file != ""
}

// numbers splits a list into numbers, as in decoded JSON; anything else stays text.
func numbers(text, between string) []any {
	var out []any
	for _, part := range strings.Split(text, between) {
		if f, err := strconv.ParseFloat(strings.TrimSpace(part), 64); err == nil {
			out = append(out, f)
		} else {
			out = append(out, part)
		}
	}
	return out
}
