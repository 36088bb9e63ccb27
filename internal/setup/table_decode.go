// SPDX-License-Identifier: Apache-2.0

package setup

// group is an object inside a setup.
type group struct {
	name  string
	begin func(s *Setup)            // allocates its struct
	check func(o *object, s *Setup) // checks its fields against each other
	whole bool                      // a profile treats the object as a single setting
}

// groups lists the objects that are decoded only from the table, in order.
var groups = []group{
	{name: "versions", begin: func(*Setup) {}, check: (*object).checkVersions},
	{name: "evaluation", begin: func(s *Setup) { s.Evaluation = &Evaluation{} }, check: (*object).checkEvaluation, whole: true},
	{name: "lora", begin: func(s *Setup) { s.LoRA = &LoRA{} }, check: func(*object, *Setup) {}, whole: true},
	{name: "quantization", begin: func(s *Setup) { s.Quantization = &Quantization{} }, check: (*object).checkQuantization, whole: true},
	{name: "dist", begin: func(s *Setup) { s.Dist = &Dist{} }, check: (*object).checkDist},
}

// decodeSettings reads every setting of a setup except its model's.
func (o *object) decodeSettings(s *Setup) {
	o.decodeGroup("", s)
	for _, g := range groups {
		in := o.inner(g.name)
		if in == nil {
			continue
		}
		g.begin(s)
		in.decodeGroup(g.name, s)
		in.required(g.name)
		g.check(in, s)
		o.adopt(in)
	}
}

// decodeGroup reads the settings of one object.
func (o *object) decodeGroup(name string, s *Setup) {
	for _, x := range Settings() {
		if in, key := x.group(); in == name {
			x.decode(o, key, s)
		}
	}
}

// required records an error if a required field of an object is missing.
func (o *object) required(name string) {
	for _, x := range Settings() {
		if in, key := x.group(); in == name && x.Required != "" && o.keys[key] == nil && !(x.Name == "lora.rank" && o.rankless()) {
			o.fail(key, "%s", x.Required)
		}
	}
}

// rankless reports whether the object's tuner has no rank.
func (o *object) rankless() bool {
	name, _ := o.keys["tuner"].(string)
	t, known := tunerTable[name]
	return known && !t.ranked
}

// decode reads one setting.
func (x *Setting) decode(o *object, key string, s *Setup) {
	switch p := x.at(s).(type) {
	case *int:
		otherwise, _ := x.Default.(int)
		*p = o.whole(key, otherwise, int(x.Least), int(x.Most))
	case *float64:
		*p = o.number(key, 0, x.Least, x.Most)
	case *bool:
		*p = o.flag(key, false)
	case **bool:
		if _, given := o.keys[key]; !given && x.Default == nil {
			return
		}
		v := o.flag(key, x.Default == true)
		*p = &v
	case *uint64:
		*p = o.size(key)
	case *[]string:
		*p = o.listed(key, x.Words)
	case **Lengths:
		*p = o.lengths(key)
	case *string:
		otherwise, _ := x.Default.(string)
		*p = o.choice(key, otherwise, x.Words)
	}
}

// versionDefaults fills in missing versions.
func (s *Setup) versionDefaults() {
	if s.Versions.Torch == "" {
		s.Versions.Torch = NewestTorch
	}
}

// clear sets a setting to its default.
func (x *Setting) clear(s *Setup) {
	switch p := x.at(s).(type) {
	case *int:
		*p = 0
	case *float64:
		*p = 0
	case *bool:
		*p = false
	case **bool:
		*p = nil
	case *uint64:
		*p = 0
	case *[]string:
		*p = nil
	case **Lengths:
		*p = nil
	case *string:
		*p = ""
	}
}
