// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTable checks that every row is complete and unique.
func TestTable(t *testing.T) {
	names, flags := map[string]bool{}, map[string]bool{}
	for _, x := range Settings() {
		if names[x.Name] || x.What == "" || x.at == nil {
			t.Errorf("%s: duplicate, or without a text or a field", x.Name)
		}
		names[x.Name] = true
		for _, f := range x.Flags {
			if flags[f.Name] {
				t.Errorf("%s: --%s is given twice", x.Name, f.Name)
			}
			flags[f.Name] = true
			if kind := x.Kind(); kind != Switch && f.Means == nil && strings.Count(x.Usage(f), "`") != 2 {
				t.Errorf("%s: the usage of --%s has no value in back quotes: %s", x.Name, f.Name, x.Usage(f))
			}
		}
		if text, ok := x.Default.(string); ok && len(x.Words) > 0 && !slices.Contains(x.Words, text) {
			t.Errorf("%s: the default %s is not one of its words", x.Name, text)
		}
		if k := x.Kind(); (k == Whole || k == Number) && x.Most == 0 {
			t.Errorf("%s: a number needs a bound", x.Name)
		}
	}
}

// TestTableHasEveryField compares the rows with the fields in the JSON of a setup.
func TestTableHasEveryField(t *testing.T) {
	want := []string{"id", "model.config", "model.name", "model.profile"} // not settings
	for _, x := range Settings() {
		want = append(want, x.Name)
	}
	got := fieldsOf("", reflect.TypeFor[Setup]())
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-rows +fields of Setup):\n%s", diff)
	}
}

func fieldsOf(prefix string, of reflect.Type) []string {
	var out []string
	for i := range of.NumField() {
		f := of.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner == reflect.TypeFor[Dist]() {
			inner = reflect.TypeFor[distJSON]()
		}
		switch {
		case name == "-" || name == "":
		case inner.Kind() == reflect.Struct && inner != reflect.TypeFor[Lengths]():
			out = append(out, fieldsOf(prefix+name+".", inner)...)
		default:
			out = append(out, prefix+name)
		}
	}
	return out
}

// sample returns a value of a setting other than its zero value.
func sample(x *Setting) any {
	switch x.Kind() {
	case Switch:
		return true
	case Names:
		return []any{append(x.Words, "q_proj")[0]}
	case Word:
		return x.Words[len(x.Words)-1]
	case Number:
		return x.Most
	case Text:
		return "x"
	}
	return max(x.Least, 1)
}

// TestRowsAreTheirFields sets each setting through its row, and checks that it appears under its own name in the
// setup's JSON, in case a row uses another's field.
func TestRowsAreTheirFields(t *testing.T) {
	for _, x := range Settings() {
		s := &Setup{LoRA: &LoRA{}, Quantization: &Quantization{}, Dist: &Dist{}, Evaluation: &Evaluation{}}
		in, key := x.group()
		o := &object{keys: map[string]any{key: sample(x)}}
		x.decode(o, key, s)
		data, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var back map[string]any
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatal(err)
		}
		if in != "" {
			back, _ = back[in].(map[string]any)
		}
		if diff := cmp.Diff(sample(x), back[key]); diff != "" {
			t.Errorf("%s: %s", x.Name, diff)
		}
		x.clear(s)
		if v := reflect.ValueOf(x.at(s)).Elem(); !v.IsZero() {
			t.Errorf("%s is %v after clearing it", x.Name, v)
		}
	}
}

// TestPlanned checks the values that every plan includes, and that objects are included only if they exist.
func TestPlanned(t *testing.T) {
	s := &Setup{Batch: 2, Precision: BF16, Dist: Over(FSDP2, 4)}
	s.Dist.Load = LoadSharded
	got, err := json.Marshal(Planned(s))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"accumulation":0,"batch":2,"checkpointing":false,"dist":{"kind":"fsdp2","load":"sharded","world":4},"precision":"bf16"}`
	if string(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
	var back Values
	if err := json.Unmarshal(got, &back); err != nil || back.Get("dist.kind") != FSDP2 || back.Get("dist.param_dtype") != nil {
		t.Errorf("decoded: %v, %v", back, err)
	}
	other := *s
	other.Batch = 4
	if diff := cmp.Diff(Values{{"batch", 4}}, Planned(&other).Changed(Planned(s))); diff != "" {
		t.Error(diff)
	}
	if text := Planned(&Setup{Batch: 8}).String(); text != "accumulation=0,batch=8,checkpointing=false" {
		t.Error(text)
	}
}
