// SPDX-License-Identifier: Apache-2.0

package script

import (
	"slices"

	"snug/internal/shadow"
)

// Field is one tensor of a batch, with the name and shape that the model expects.
type Field struct {
	Name  string       // as the model's forward calls it
	Size  []int        // the first is the batch size, times Rows
	Rows  int          // rows of a sample, such as the patches of its images; 0 means one
	DType shadow.DType // element type
}

// loader is a DataLoader, or anything else that yields batches.
type loader struct {
	refs
	of        value // the dataset
	collate   value
	batch     int       // samples per batch
	size      int       // number of batches, -1 if unknown
	last      int       // samples in the last batch if it is smaller, otherwise 0
	onCard    bool      // a trainer moves the batches to the card
	evaluates bool      // a trainer uses it for evaluation
	drops     bool      // drop_last
	stream    *iterator // the samples of an iterable dataset, while the loader is iterated over
}

func (l *loader) release() {
	if l.last2() {
		drop(l.of)
		drop(l.collate)
	}
}

func (l *loader) last2() bool { return l.refs.last() }

func (l *loader) attr(_ *interpreter, name string) (value, bool) {
	switch name {
	case "dataset":
		return hold(l.of), true
	case "batch_size":
		return l.batch, true
	case "drop_last":
		return l.drops, true
	case "sampler", "batch_sampler", "collate_fn", "num_workers", "generator":
		return unknown{}, true
	}
	return nil, false
}

// newLoader implements DataLoader(dataset, batch_size, …). The script's first loader yields the training batches,
// so its batch size is the setup's.
func newLoader(in *interpreter, a arguments) value {
	given := a.or(1, "batch_size", 1)
	if s, ok := a.get(-1, "batch_sampler"); ok && s != nil {
		given = unknown{}
	}
	l := &loader{of: hold(a.or(0, "dataset", unknown{})), collate: hold(a.or(-1, "collate_fn", nil)), size: -1}
	n, known := given.(int)
	l.batch = in.batchSize(given)
	if training, ok := a.or(-1, "_training", nil).(bool); ok && known { // a trainer specifies which of its loaders is for training
		l.batch, l.evaluates = n, !training
		if training && in.survey == nil {
			l.batch = in.Batch
		}
	}
	samples := in.length(l.of)
	drops, _ := a.or(-1, "drop_last", false).(bool)
	l.drops = drops
	if known && n > 0 && samples >= 0 {
		l.size = samples / n
		if rest := samples % n; rest > 0 && !drops {
			l.size++
			l.last = max(rest*l.batch/n, 1)
		}
	}
	return l
}

// batchSize returns a loader's batch size. The size of the script's first loader is replaced with the setup's.
func (in *interpreter) batchSize(given value) int {
	in.asked = true
	n, ok := given.(int)
	if !ok || n < 1 {
		return in.Batch
	}
	if in.survey != nil {
		in.sawBatch(n)
		return n
	}
	if in.first == 0 {
		in.first = n
	}
	if n == in.first {
		return in.Batch
	}
	return n
}

// length returns the number of samples in a dataset, or -1 if unknown.
func (in *interpreter) length(of value) int {
	switch d := of.(type) {
	case *samples:
		return d.n
	case *hostTensor:
		return d.size[0]
	case *list:
		if d.tuple && len(d.items) > 0 {
			return in.length(d.items[0])
		}
		return len(d.items)
	case *instance:
		fn, owner := d.class.find("__len__")
		if owner == nil {
			return -1
		}
		m := in.methodOf(d, fn)
		defer drop(m)
		if n, ok := in.invoke(m, arguments{}).(int); ok {
			return n
		}
	}
	return -1
}

// batches iterates over a loader's batches.
func (in *interpreter) batches(l *loader) *iterator {
	hold(l)
	i := 0
	l.stream = in.streamOf(l)
	return &iterator{
		size: l.size, data: true,
		next: func() (value, bool) {
			if l.size >= 0 && i >= l.size {
				return nil, false
			}
			i++
			n := l.batch
			if l.last > 0 && i == l.size {
				n = l.last
			}
			in.nextLength(l)
			in.compares = false
			return in.oneBatch(l, (i-1)*l.batch, n), true
		},
		skip: func() bool {
			if l.last == 0 || i >= l.size {
				return false
			}
			i = l.size - 1
			return true
		},
		seek: func(left int) {
			if l.size >= 0 {
				i = max(l.size-left, i)
			}
		},
		end: func() { drop(l.takeStream()); drop(l) },
	}
}

// streamOf returns the samples of an iterable dataset for a collate_fn, or nil.
func (in *interpreter) streamOf(l *loader) *iterator {
	o, ok := l.of.(*instance)
	if !ok || !in.collates(l.collate) {
		return nil
	}
	if _, owner := o.class.find("__getitem__"); owner != nil {
		return nil
	}
	return in.iterateInstance(o)
}

// takeStream removes the samples of an iterable dataset from the loader.
func (l *loader) takeStream() value {
	it := l.stream
	l.stream = nil
	if it == nil {
		return nil
	}
	return it
}

// nextLength sets the length of the next batch if lengths vary.
func (in *interpreter) nextLength(l *loader) {
	if len(in.Lengths) == 0 || !in.World.GradEnabled() {
		return
	}
	in.lengthUsed = true
	if l.evaluates {
		in.Seq = slices.Max(in.Lengths)
	} else {
		in.Seq = in.Lengths[min(in.fetched, len(in.Lengths)-1)]
		in.fetched++
	}
	for i := range in.Fields {
		if f := &in.Fields[i]; len(f.Size) > 1 {
			f.Size[len(f.Size)-1] = in.Seq
		}
	}
}

// oneBatch returns a batch of n samples, starting with sample from.
func (in *interpreter) oneBatch(l *loader, from, n int) value {
	v := in.collated(l, from, n)
	if l.onCard {
		moved := in.moved(v, arguments{pos: []value{"cuda"}})
		drop(v)
		return moved
	}
	return v
}

// collated returns a batch of n samples in host memory.
func (in *interpreter) collated(l *loader, from, n int) value {
	if in.collates(l.collate) {
		in.collating = n
		if v := in.tried(l.collate, arguments{pos: []value{in.sampleList(l, from, n)}}); in.tells(v) {
			d, ok := v.(*dict)
			if ok && d.sized || len(in.Lengths) == 0 && in.shaped(v) && (!ok || !d.batch) {
				return v
			}
			return in.sized(v, n)
		}
	}
	v := in.samples(l, n)
	in.labeled(l.collate, v)
	return v
}

// labeled adds the labels that a language modeling collator makes from the inputs.
func (in *interpreter) labeled(collate, batch value) {
	o, ok := collate.(*instance)
	d, isDict := batch.(*dict)
	if !ok || !isDict || !o.class.derives("DataCollatorForLanguageModeling") && o.class.name != "DataCollatorForLanguageModeling" {
		return
	}
	if ids, ok := d.get("input_ids"); ok {
		d.set("labels", hold(ids))
	}
}

// samples returns n samples of the dataset, stacked.
func (in *interpreter) samples(l *loader, n int) value {
	switch d := l.of.(type) {
	case *hostTensor:
		return in.rows(d, n)
	case *list:
		if d.tuple {
			out := &list{}
			for _, x := range d.items {
				out.items = append(out.items, in.sized(x, n))
			}
			return out
		}
		if len(d.items) > 0 && in.tells(d.items[0]) {
			return in.sized(in.stacked(in.copied(d.items[0])), n)
		}
	case *instance:
		if fn, owner := d.class.find("__getitem__"); owner != nil {
			m := in.methodOf(d, fn)
			v := in.invoke(m, arguments{pos: []value{0}})
			drop(m)
			if in.tells(v) {
				return in.sized(in.stacked(in.copied(v)), n)
			}
		}
	}
	if o, ok := l.of.(*instance); ok {
		if v := in.firstSample(o); in.tells(v) {
			return in.sized(in.stacked(in.copied(v)), n)
		}
	}
	return in.mystery(n)
}

// cheapSample is the maximum number of expressions per sample if each sample of a batch is made separately.
const cheapSample = 60

// sampleList returns n samples for a collate_fn, starting with sample from. If making them takes too long, it
// repeats the first. An iterable dataset may end before.
func (in *interpreter) sampleList(l *loader, from, n int) value {
	before := in.evaluated
	sample, ok := in.nextSample(l, from)
	if !ok || isUnknown(sample) {
		return unknown{}
	}
	in.grow(n)
	out := &list{items: []value{hold(sample)}}
	each := in.evaluated-before <= cheapSample
	for i := 1; i < n; i++ {
		next := hold(sample)
		if each {
			drop(next)
			if next, ok = in.nextSample(l, from+i); !ok {
				break
			}
		}
		out.items = append(out.items, next)
	}
	drop(sample)
	return out
}

// nextSample returns a sample of a loader's dataset, the next one if the dataset is iterable.
func (in *interpreter) nextSample(l *loader, i int) (value, bool) {
	if l.stream != nil {
		return l.stream.next()
	}
	return in.sample(l.of, i), true
}

// sample returns one sample of a dataset.
func (in *interpreter) sample(of value, i int) value {
	switch d := of.(type) {
	case *hostTensor:
		return indexHost(in.rows(d, d.size[0]), i)
	case *list:
		if !d.tuple && len(d.items) > 0 {
			return hold(d.items[i%len(d.items)])
		}
		row := &list{tuple: true}
		for _, x := range d.items {
			row.items = append(row.items, in.sample(x, i))
		}
		return row
	case *instance:
		if fn, owner := d.class.find("__getitem__"); owner != nil {
			m := in.methodOf(d, fn)
			defer drop(m)
			return in.invoke(m, arguments{pos: []value{i}})
		}
	}
	return unknown{}
}

// firstSample returns the first sample of an iterable dataset.
func (in *interpreter) firstSample(o *instance) value {
	it := in.iterateInstance(o)
	if it == nil {
		return unknown{}
	}
	defer drop(it)
	v, ok := it.next()
	if !ok {
		return unknown{}
	}
	return in.copied(v)
}

// collates reports whether a collate_fn is code that can be run to find out what it returns.
func (in *interpreter) collates(v value) bool {
	switch f := v.(type) {
	case *function, *method, *partial:
		return true
	case *instance:
		_, owner := f.class.find("__call__")
		return owner != nil
	}
	return false
}

// tried calls a function of the script to learn the shape of a batch, and discards its notes.
func (in *interpreter) tried(f value, a arguments) value {
	notes := len(in.result.Notes)
	v := in.invoke(f, a)
	in.result.Notes = in.result.Notes[:notes]
	return v
}

// tells reports whether a value shows the structure of a batch.
func (in *interpreter) tells(v value) bool {
	switch v := v.(type) {
	case *dict:
		return len(v.keys) > 0 && !v.open
	case *list:
		return len(v.items) > 0
	case *hostTensor:
		return true
	}
	return false
}

// shaped reports whether every part of a batch is known.
func (in *interpreter) shaped(v value) bool {
	switch v := v.(type) {
	case *dict:
		return !slices.ContainsFunc(v.vals, func(x value) bool { return !in.shaped(x) })
	case *list:
		return !slices.ContainsFunc(v.items, func(x value) bool { return !in.shaped(x) })
	case *hostTensor:
		return !ofUnseen(v)
	case *shadow.Tensor, nil, bool, int, float64, string:
		return true
	}
	return false
}

// copied returns a deep copy of a sample, which may be modified.
func (in *interpreter) copied(v value) value {
	switch v := v.(type) {
	case *dict:
		out := &dict{record: v.record}
		in.merge(out, v)
		return out
	case *list:
		return in.listOperation("*", v, 1)
	}
	return v
}

// stacked adds a batch dimension to a sample's tensors.
func (in *interpreter) stacked(v value) value {
	switch v := v.(type) {
	case *hostTensor:
		out := &hostTensor{size: append([]int{1}, v.size...), dtype: v.dtype}
		in.marks(out, in.zeros[v])
		return out
	case *dict:
		for i := range v.vals {
			v.vals[i] = in.stacked(in.copied(v.vals[i]))
		}
	case *list:
		for i := range v.items {
			v.items[i] = in.stacked(in.copied(v.items[i]))
		}
	case int, *place:
		return &hostTensor{size: []int{1}, dtype: shadow.Int64}
	case float64:
		return &hostTensor{size: []int{1}, dtype: shadow.Float64}
	}
	return v
}

// sized resizes each part of a batch to n samples, and tokens to the setup's length.
func (in *interpreter) sized(v value, n int) value {
	switch v := v.(type) {
	case *hostTensor:
		return in.rows(v, n)
	case *dict:
		out := &dict{record: true}
		for i, k := range v.keys {
			x := in.sized(v.vals[i], n)
			if name, ok := k.(string); ok && (isUnknown(x) || ofUnseen(v.vals[i])) {
				if f := in.field(name, n); !isUnknown(f) {
					drop(x)
					x = f
				}
			}
			out.set(k, x)
		}
		return out
	case *list:
		out := &list{tuple: v.tuple}
		for _, x := range v.items {
			out.items = append(out.items, in.sized(x, n))
		}
		return out
	}
	return hold(v)
}

// ofUnseen reports whether a tensor was made from a list of unknown samples, which is empty here.
func ofUnseen(v value) bool {
	t, ok := v.(*hostTensor)
	return ok && len(t.size) > 0 && t.size[0] == 0
}

// rows returns n samples of a tensor of the dataset. Token ids get the setup's length.
func (in *interpreter) rows(d *hostTensor, n int) *hostTensor {
	size := slices.Clone(d.size)
	size[0] = n
	own := in.survey != nil || in.lengths && len(in.Lengths) == 0
	if len(size) == 2 && d.dtype == shadow.Int64 && in.Seq > 0 && !own {
		size[1], in.lengthUsed = in.Seq+in.beyond(size[1]), true
	}
	out := &hostTensor{size: size, dtype: d.dtype}
	in.marks(out, in.zeros[d])
	if c, ok := in.contentsOf(d); ok && c.kind == sameNumber {
		in.learn(out, c)
	}
	return out
}

// measure checks whether the script's own data has the setup's length. If so, all its lengths are kept, because
// labels may be shorter than inputs.
func (in *interpreter) measure(size []int) {
	for _, n := range size {
		in.lengths = in.lengths || n > 8 && n >= in.length0-1 && n <= in.length0+1
	}
	in.lengthUsed = in.lengthUsed || in.lengths
}

// beyond returns the number of tokens by which the script's samples exceed the sequence: one if inputs and labels are
// slices of the same row.
func (in *interpreter) beyond(length int) int {
	if off := length - in.length0; off >= -1 && off <= 1 {
		return off
	}
	if length%8 == 1 {
		return 1
	}
	return 0
}

// field returns a tensor of a batch by name, or token ids if the name is unknown.
func (in *interpreter) field(name string, n int) value {
	for _, f := range in.Fields {
		if f.Name == name {
			size := slices.Clone(f.Size)
			size[0], in.lengthUsed = n*max(f.Rows, 1), true
			return &hostTensor{size: size, dtype: f.DType}
		}
	}
	return unknown{}
}

// mystery returns a batch of an unknown dataset: the tensors that the model expects.
func (in *interpreter) mystery(n int) value {
	in.asked, in.lengthUsed = true, true
	d := &dict{record: true, batch: true}
	for _, f := range in.Fields {
		d.set(f.Name, in.field(f.Name, n))
	}
	return d
}

// parts splits a batch of an unknown dataset into a tuple of want tensors: inputs first, labels last.
func (d *dict) parts(want int) []value {
	if want <= 0 || want > len(d.vals) {
		want = len(d.vals)
	}
	var out []value
	for i := range want {
		at := i
		if i == want-1 && want > 1 {
			at = len(d.vals) - 1
		}
		out = append(out, hold(d.vals[at]))
	}
	return out
}

// unknownItems iterates over the batches of an unknown value.
func (in *interpreter) unknownItems() *iterator {
	return in.batches(&loader{of: unknown{}, batch: in.Batch, size: -1})
}

// moved implements v.to(…) for each part of a batch.
func (in *interpreter) moved(v value, a arguments) value {
	switch v := v.(type) {
	case *hostTensor:
		return in.sameContents(in.hostMethod(v, "to", a), v)
	case *shadow.Tensor:
		return in.sameContents(tensorTo(in, v, a), v)
	case *dict:
		out := &dict{record: v.record, batch: v.batch}
		for i, k := range v.keys {
			out.set(k, in.moved(v.vals[i], a))
		}
		return out
	case *list:
		out := &list{tuple: v.tuple}
		for _, x := range v.items {
			out.items = append(out.items, in.moved(x, a))
		}
		return out
	}
	return hold(v)
}

// sameContents copies what is known about the contents of v to out, a copy of v.
func (in *interpreter) sameContents(out, v value) value {
	in.marks(out, in.zeros[v])
	if c, ok := in.contentsOf(v); ok {
		in.learn(out, c)
	}
	return out
}

// iterate returns iter(v), or nil if v is unknown.
func (in *interpreter) iterate(v value) *iterator {
	switch v := v.(type) {
	case *iterator:
		hold(v)
		return v
	case *loader:
		return in.batches(v)
	case *submodule:
		l := v.list(in)
		defer drop(l)
		return in.iterate(l)
	case *list:
		hold(v)
		it := itemsOf(len(v.items), func(i int) value { return hold(v.items[i]) }, func() int { return len(v.items) }, func() { drop(v) })
		it.few = len(v.items) <= fewItems
		return it
	case string:
		letters := []rune(v)
		return itemsOf(len(letters), func(i int) value { return string(letters[i]) }, func() int { return len(letters) }, nil)
	case *dict:
		keys := slices.Clone(v.keys)
		return itemsOf(len(keys), func(i int) value { return hold(keys[i]) }, func() int { return len(keys) }, nil)
	case sizeValue:
		return itemsOf(len(v), func(i int) value { return v[i] }, func() int { return len(v) }, nil)
	case *hostTensor:
		if len(v.size) == 0 {
			return nil
		}
		return itemsOf(v.size[0], func(i int) value { return indexHost(v, i) }, func() int { return v.size[0] }, nil)
	case *shadow.Tensor: // __iter__ is unbind(0)
		if v.Here() && v.Dim() > 0 && v.Size(0) <= maxIterations {
			rows := tensorMethods["unbind"](in, v, arguments{})
			defer drop(rows)
			return in.iterate(rows)
		}
	case *instance:
		return in.iterateInstance(v)
	}
	return nil
}

func itemsOf(size int, at func(i int) value, n func() int, end func()) *iterator {
	i := 0
	return &iterator{size: size, end: end, next: func() (value, bool) {
		if i >= n() {
			return nil, false
		}
		i++
		return at(i - 1), true
	}}
}

func (in *interpreter) iterateInstance(o *instance) *iterator {
	fn, owner := o.class.find("__iter__")
	if owner == nil {
		return nil
	}
	m := in.methodOf(o, fn)
	v := in.invoke(m, arguments{})
	drop(m)
	if v == value(o) {
		defer drop(v)
		next, owner := o.class.find("__next__")
		if owner == nil {
			return nil
		}
		hold(o)
		return &iterator{size: -1, data: true, end: func() { drop(o) }, next: func() (value, bool) {
			m := in.methodOf(o, next)
			defer drop(m)
			return in.invoke(m, arguments{}), true
		}}
	}
	defer drop(v)
	it := in.iterate(v)
	if it != nil && it.size < 0 {
		it.size = in.length(o)
	}
	return it
}
