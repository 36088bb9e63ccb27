// SPDX-License-Identifier: Apache-2.0

package family

import (
	"cmp"
	"fmt"
	"maps"
	"math"
)

// Config is the contents of a config.json. A family supplies the default for a missing key when it reads it.
type Config struct {
	keys     map[string]any
	defaults map[string]any // defaults of numeric keys that the family read but the config lacks
	err      error
	inner    []*Config // the configs inside this one, of a vision tower and of a text model
}

// NewConfig wraps decoded JSON.
func NewConfig(keys map[string]any) *Config { return &Config{keys: keys} }

// Err returns an error for the first value that a family could not use.
func (c *Config) Err() error {
	err := c.err
	for _, in := range c.inner {
		err = cmp.Or(err, in.Err())
	}
	return err
}

// within returns the config of a part of the model, such as vision_config. Without such a key all its keys have their
// defaults.
func (c *Config) within(key string) *Config {
	keys, ok := c.keys[key].(map[string]any)
	if !ok && c.Has(key) {
		c.fail(key, "an object")
	}
	in := NewConfig(keys)
	c.inner = append(c.inner, in)
	return in
}

// text returns the config of a model's text part: text_config, or for configs of older releases the config itself.
func (c *Config) text() *Config {
	if !c.Has("text_config") {
		return c
	}
	return c.within("text_config")
}

// ModelType returns the key that selects the family.
func (c *Config) ModelType() string { return c.String("model_type", "") }

func (c *Config) fail(key string, want string) {
	if c.err == nil {
		c.err = fmt.Errorf("config key %q is %v; it must be %s", key, c.keys[key], want)
	}
}

// Has reports whether a key is present and not null.
func (c *Config) Has(key string) bool { return c.keys[key] != nil }

// Int reads a whole number, or returns def if the key is missing or null.
func (c *Config) Int(key string, def int) int {
	v := c.keys[key]
	if v == nil {
		c.defaulted(key, def)
		return def
	}
	f, ok := v.(float64)
	if !ok || f != math.Trunc(f) || f < 0 || f > 1e9 {
		c.fail(key, "a whole number from 0 to 1,000,000,000")
		return def
	}
	return int(f)
}

// defaulted records the default of a key.
func (c *Config) defaulted(key string, def int) {
	if c.defaults == nil {
		c.defaults = map[string]any{}
	}
	c.defaults[key] = float64(def)
}

// defaultedSizes records the default of a list.
func (c *Config) defaultedSizes(key string, def []int) {
	list := make([]any, len(def))
	for i, n := range def {
		list[i] = float64(n)
	}
	c.defaulted(key, 0)
	c.defaults[key] = list
}

// Complete returns the keys, with the family's defaults for missing ones. Call it after a model has been built.
func (c *Config) Complete() map[string]any {
	out := maps.Clone(c.defaults)
	if out == nil {
		out = map[string]any{}
	}
	maps.Copy(out, c.keys)
	return out
}

// Positive reads an Int that cannot be zero.
func (c *Config) Positive(key string, def int) int {
	n := c.Int(key, def)
	if n < 1 {
		c.fail(key, "at least 1")
		return 1
	}
	return n
}

// Float reads a number, or returns def if the key is missing or null.
func (c *Config) Float(key string, def float64) float64 {
	v := c.keys[key]
	if v == nil {
		return def
	}
	f, ok := v.(float64)
	if !ok || math.IsNaN(f) || math.IsInf(f, 0) {
		c.fail(key, "a number")
		return def
	}
	return f
}

// Bool reads true or false, or returns def if the key is missing or null.
func (c *Config) Bool(key string, def bool) bool {
	v := c.keys[key]
	if v == nil {
		return def
	}
	b, ok := v.(bool)
	if !ok {
		c.fail(key, "true or false")
		return def
	}
	return b
}

// String reads text, or returns def if the key is missing or null.
func (c *Config) String(key, def string) string {
	v := c.keys[key]
	if v == nil {
		return def
	}
	s, ok := v.(string)
	if !ok {
		c.fail(key, "text")
		return def
	}
	return s
}

// Strings reads a list of strings, or nil.
func (c *Config) Strings(key string) []string {
	list, _ := c.keys[key].([]any)
	var out []string
	for _, v := range list {
		s, ok := v.(string)
		if !ok {
			c.fail(key, "a list of strings")
			return nil
		}
		out = append(out, s)
	}
	return out
}

// Ints reads a list of whole numbers, or nil.
func (c *Config) Ints(key string) []int {
	list, _ := c.keys[key].([]any)
	var out []int
	for _, v := range list {
		f, ok := v.(float64)
		if !ok || f != math.Trunc(f) || math.Abs(f) > 1e9 {
			c.fail(key, "a list of whole numbers")
			return nil
		}
		out = append(out, int(f))
	}
	return out
}

// sizes reads a list of positive numbers.
func (c *Config) sizes(key string, def ...int) []int {
	list := c.Ints(key)
	if list == nil {
		c.defaultedSizes(key, def)
		return def
	}
	for _, n := range list {
		if n < 1 {
			c.fail(key, "a list of positive numbers")
			return def
		}
	}
	return list
}

// HeadDim returns hidden divided by heads. It is an error if there is a remainder.
func (c *Config) HeadDim(hidden, heads int) int {
	if hidden%heads != 0 && c.err == nil {
		c.err = fmt.Errorf("hidden size %d is not divisible by %d attention heads", hidden, heads)
	}
	return max(hidden/heads, 1)
}

// headDim returns head_dim, by default hidden divided by heads.
func (c *Config) headDim(hidden, heads int) int {
	if c.Has("head_dim") {
		return c.Positive("head_dim", 1)
	}
	return c.HeadDim(hidden, heads)
}

// usual sets the values of keys that the config omits.
func (c *Config) usual(values map[string]any) {
	keys := maps.Clone(values)
	maps.Copy(keys, c.keys)
	c.keys = keys
}

// alias lets a key have a second name, like attribute_map.
func (c *Config) alias(key, other string) {
	if c.Has(key) || !c.Has(other) {
		return
	}
	keys := maps.Clone(c.keys)
	keys[key] = keys[other]
	c.keys = keys
}

// with returns the config with a key set.
func (c *Config) with(key string, v any) *Config {
	c.keys = maps.Clone(c.keys)
	if c.keys == nil {
		c.keys = map[string]any{}
	}
	c.keys[key] = v
	return c
}

// null reports whether a key has the value null.
func (c *Config) null(key string) bool {
	v, there := c.keys[key]
	return there && v == nil
}

// kvHeads returns num_key_value_heads, which must divide the number of heads.
func (c *Config) kvHeads(heads, def int) int {
	kv := c.Positive("num_key_value_heads", def)
	if heads%kv != 0 {
		if c.err == nil {
			c.err = fmt.Errorf("%d attention heads cannot be divided evenly among %d key-value heads", heads, kv)
		}
		return heads
	}
	return kv
}

// refuse records an error if a switch is on that would change the model in a way that is not simulated.
func (c *Config) refuse(key string) {
	if c.Bool(key, false) {
		c.fail(key, "false, because its effect is not simulated")
	}
}
