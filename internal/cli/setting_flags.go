// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"iter"
	"strings"

	"github.com/spf13/pflag"

	"snug/internal/setup"
)

// settingFlags returns the flags for the table of settings, in its order.
func settingFlags() iter.Seq2[*setup.Setting, setup.Flag] {
	return func(yield func(*setup.Setting, setup.Flag) bool) {
		for _, x := range setup.Settings() {
			for _, flag := range x.Flags {
				if !yield(x, flag) {
					return
				}
			}
		}
	}
}

// addFlag adds the flag for a setting.
func addFlag(fs *pflag.FlagSet, x *setup.Setting, flag setup.Flag) {
	name, usage := flag.Name, x.Usage(flag)
	kind := x.Kind()
	if flag.Means != nil {
		kind = setup.Switch
	}
	switch kind {
	case setup.Switch:
		fs.Bool(name, false, usage)
	case setup.Whole:
		fs.Int(name, 0, usage)
	case setup.Number:
		fs.Float64(name, 0, usage)
	case setup.Names:
		fs.StringSlice(name, nil, usage)
	default:
		fs.String(name, "", usage)
	}
}

// means reports whether a flag sets its setting: --load-in-4bit=false does not.
func (f *setupFlags) means(flag setup.Flag) bool {
	on, _ := f.flags.GetBool(flag.Name)
	return flag.Means == nil || on
}

// value returns a flag's value as it would be decoded from JSON.
func (f *setupFlags) value(x *setup.Setting, flag setup.Flag) any {
	if n, ok := flag.Means.(int); ok {
		return float64(n)
	}
	switch name := flag.Name; x.Kind() {
	case setup.Switch:
		v, _ := f.flags.GetBool(name)
		return v
	case setup.Whole:
		v, _ := f.flags.GetInt(name)
		return float64(v)
	case setup.Number:
		v, _ := f.flags.GetFloat64(name)
		return v
	case setup.Names:
		names, _ := f.flags.GetStringSlice(name)
		var list []any
		for _, n := range names {
			list = append(list, strings.TrimSpace(n))
		}
		return list
	default:
		v, _ := f.flags.GetString(name)
		return v
	}
}
