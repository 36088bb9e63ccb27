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
	Setting string // its name
	Value   any    // of the type that a Setup has
}

// Values is settings with their values, as a plan chooses them and config files take
// them.
type Values []Value

// Planned returns the values that a plan gives for a setup: some always, others if they apply to the run.
func Planned(s *Setup) Values {
	var out Values
	for _, x := range Settings() {
		object, _ := x.group()
		if !x.Has(InPlan) || object == "dist" && s.Dist == nil {
			continue
		}
		if v := x.Value(s); x.Has(PlanAlways) || !reflect.ValueOf(v).IsZero() {
			out = append(out, Value{x.Name, v})
		}
	}
	return out
}

// Value is the setting's value in a setup that has the object it is in.
func (x *Setting) Value(s *Setup) any {
	switch p := x.at(s).(type) {
	case **bool:
		return *p == nil || **p
	default:
		return reflect.ValueOf(p).Elem().Interface()
	}
}

// Get is the value of a setting, nil if it is not among them.
func (vs Values) Get(setting string) any {
	for _, v := range vs {
		if v.Setting == setting {
			return v.Value
		}
	}
	return nil
}

// Assign is one setting with its value.
func Assign(setting string, value any) Values { return Values{{setting, value}} }

// With is the values with one more, or another.
func (vs Values) With(setting string, value any) Values {
	return append(vs.Without(setting), Value{setting, value})
}

// Without returns the values except those of a setting.
func (vs Values) Without(setting string) Values {
	return slices.DeleteFunc(slices.Clone(vs), func(v Value) bool { return v.Setting == setting })
}

// Names is the settings in the order of their names.
func (vs Values) Names() []string {
	var out []string
	for _, v := range vs.sorted() {
		out = append(out, v.Setting)
	}
	return out
}

// Changed is the values that are not as they were.
func (vs Values) Changed(was Values) Values {
	return slices.DeleteFunc(slices.Clone(vs), func(v Value) bool { return reflect.DeepEqual(was.Get(v.Setting), v.Value) })
}

// String is the values as snug apply --set takes them.
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

// MarshalJSON writes the values as a setup has them.
func (vs Values) MarshalJSON() ([]byte, error) {
	out := map[string]any{}
	for _, v := range vs {
		Put(out, v.Setting, v.Value)
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON writes. Unknown names are kept: the user of the values reports
// them.
func (vs *Values) UnmarshalJSON(data []byte) error {
	var in map[string]any
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*vs = flat("", in)
	return nil
}

// flat makes lora.rank of {"lora": {"rank": 8}}; null is not said.
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
