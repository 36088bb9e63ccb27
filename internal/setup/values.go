// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Value is a setting with its value: an int, float64, bool, string, uint64 or []string, according to the
// setting's Kind.
type Value struct {
	Setting string // the setting's name
	Value   any    // has the type of its field in Setup
}

// Values are settings with their values, as chosen by a plan and written to config
// files.
type Values []Value

// Planned returns the values that a plan includes for a setup: some always, others if they apply to the run.
func Planned(s *Setup) Values {
	var out Values
	for _, x := range Settings() {
		object, _ := x.group()
		if !x.Has(InPlan) || object == "dist" && s.Dist == nil {
			continue
		}
		v := x.Value(s)
		if x.planned != nil {
			v = x.planned(s)
		}
		if x.Has(PlanAlways) || !reflect.ValueOf(v).IsZero() {
			out = append(out, Value{x.Name, v})
		}
	}
	return out
}

// Value returns the setting's value in a setup that has its object.
func (x *Setting) Value(s *Setup) any {
	switch p := x.at(s).(type) {
	case **bool:
		if *p == nil {
			return x.Default == true
		}
		return **p
	default:
		return reflect.ValueOf(p).Elem().Interface()
	}
}

// Get returns the value of a setting, or nil if there is none.
func (vs Values) Get(setting string) any {
	for _, v := range vs {
		if v.Setting == setting {
			return v.Value
		}
	}
	return nil
}

// Assign returns one setting with its value.
func Assign(setting string, value any) Values { return Values{{setting, value}} }

// With returns the values with one added or replaced.
func (vs Values) With(setting string, value any) Values {
	return append(vs.Without(setting), Value{setting, value})
}

// Without returns the values except those of a setting.
func (vs Values) Without(setting string) Values {
	return slices.DeleteFunc(slices.Clone(vs), func(v Value) bool { return v.Setting == setting })
}

// Names returns the names of the settings, sorted.
func (vs Values) Names() []string {
	var out []string
	for _, v := range vs.sorted() {
		out = append(out, v.Setting)
	}
	return out
}

// Changed returns the values that differ from was.
func (vs Values) Changed(was Values) Values {
	return slices.DeleteFunc(slices.Clone(vs), func(v Value) bool { return reflect.DeepEqual(was.Get(v.Setting), v.Value) })
}

// String returns the values in the format of snug apply --set.
func (vs Values) String() string {
	var parts []string
	for _, v := range vs.sorted() {
		parts = append(parts, fmt.Sprintf("%s=%v", v.Setting, v.Value))
	}
	return strings.Join(parts, ",")
}

func (vs Values) sorted() Values {
	return slices.SortedFunc(slices.Values(vs), func(a, b Value) int { return cmp.Compare(a.Setting, b.Setting) })
}

// MarshalJSON writes the values in the form of a setup.
func (vs Values) MarshalJSON() ([]byte, error) {
	out := map[string]any{}
	for _, v := range vs {
		Put(out, v.Setting, v.Value)
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON writes. It keeps unknown names, for the caller to report.
func (vs *Values) UnmarshalJSON(data []byte) error {
	var in map[string]any
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*vs = Flat(in)
	return nil
}

// Flat returns the fields of a setup file as settings, sorted by name. It keeps unknown names.
func Flat(fields map[string]any) Values { return flat("", fields) }

// flat turns {"lora": {"rank": 8}} into lora.rank; null is omitted.
func flat(prefix string, in map[string]any) Values {
	var out Values
	for _, name := range slices.Sorted(maps.Keys(in)) {
		switch v := in[name].(type) {
		case nil:
		case map[string]any:
			out = append(out, flat(prefix+name+".", v)...)
		default:
			out = append(out, Value{prefix + name, v})
		}
	}
	return out
}
