// SPDX-License-Identifier: Apache-2.0

package systems

import (
	"math"
	"strconv"
	"strings"

	"snug/internal/config/doc"
)

// AsNumber returns a value as a number, quoted or not, and false if it is not one.
func AsNumber(v doc.Value) (float64, bool) {
	switch d := v.Data.(type) {
	case int64:
		return float64(d), true
	case float64:
		return d, !math.IsNaN(d) && !math.IsInf(d, 0)
	case string:
		f, err := strconv.ParseFloat(strings.TrimSpace(d), 64)
		return f, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
	}
	return 0, false
}

// AsBool returns v as a boolean; ok is false if v is not one.
func AsBool(v doc.Value) (on, ok bool) {
	switch d := v.Data.(type) {
	case bool:
		return d, true
	case int64:
		return d == 1, d == 0 || d == 1
	case string:
		switch strings.ToLower(d) {
		case "true", "yes", "on", "1", "":
			return true, true // a flag without a value is on
		case "false", "no", "off", "0":
			return false, true
		}
	}
	return false, false
}

// AsText returns a value as it is spelled in a vocabulary, and false for a map or a list.
func AsText(v doc.Value) (string, bool) {
	switch d := v.Data.(type) {
	case nil:
		return "", v.Kind == doc.Null
	case bool:
		return strconv.FormatBool(d), true
	case int64:
		return strconv.FormatInt(d, 10), true
	case float64:
		return strconv.FormatFloat(d, 'g', -1, 64), true
	case string:
		return d, true
	}
	return "", false
}
