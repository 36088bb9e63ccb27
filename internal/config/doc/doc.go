// SPDX-License-Identifier: Apache-2.0

// Package doc reads configuration files and edits them in place.
//
// People put comments into their configs, align values, share them through
// anchors, and keep all of it under version control. So a file is never
// rewritten from its parsed form: parsing finds the position of each value, and
// an edit replaces the bytes of one value or inserts one line. Everything else
// stays the same, to the byte: comments, quoting, indentation, anchors and tags, line endings, key
// order, the byte order mark, the final newline or its absence.
//
// Five formats share one interface:
//
//	YAML     a tree; aliases and merge keys are followed to the definition
//	JSON     a tree; comments and trailing commas are allowed
//	TOML     a tree; [tables], dotted keys and {inline tables} are the same to Find
//	Python   top-level assignments, the fields of top-level classes, and the
//	         dicts and calls they hold: batch_size, Config.lr, train.batch_size
//	shell    variables (BATCH), flags (--batch-size), and key=value arguments
//
// Each format has one file that parses and one that writes; finding, checking and splicing are shared. After
// each edit the new bytes are parsed again and must contain the same values as before, except for the one
// that was changed. An edit that would change anything else is refused.
package doc

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"snug/internal/pysrc"
)

// Format is a kind of file.
type Format string

// The formats.
const (
	YAML   Format = "yaml"   // .yaml, .yml
	JSON   Format = "json"   // .json, with comments allowed
	TOML   Format = "toml"   // .toml
	Python Format = "python" // .py
	Shell  Format = "shell"  // .sh
)

// extensions maps file name extensions to formats.
var extensions = map[string]Format{
	".yaml": YAML, ".yml": YAML,
	".json": JSON, ".jsonc": JSON, ".json5": JSON, ".hjson": JSON,
	".toml": TOML,
	".py":   Python, notebook: Python,
	".sh": Shell, ".bash": Shell, ".zsh": Shell, ".slurm": Shell, ".sbatch": Shell,
}

// notebook is the extension of notebooks. Their code is read as one program, and never written.
const notebook = ".ipynb"

// IsNotebook reports whether a file is a notebook, by its name.
func IsNotebook(name string) bool { return strings.EqualFold(path.Ext(name), notebook) }

// maxSize is larger than any config and small enough to parse quickly.
const maxSize = 16 << 20

// isSettings reports whether a file's extension shows only that it contains settings, not in which format.
// DeepSpeed's JSON is often called .conf.
func isSettings(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".conf", ".config", ".cfg":
		return true
	}
	return false
}

// FormatOf returns a file's format, from its name, its #! line or its first characters.
func FormatOf(name string, data []byte) (Format, bool) {
	if f, ok := extensions[strings.ToLower(path.Ext(name))]; ok {
		return f, true
	}
	if isSettings(name) && bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return JSON, true
	}
	first, _, _ := bytes.Cut(data, []byte("\n"))
	if !bytes.HasPrefix(first, []byte("#!")) {
		return "", false
	}
	switch {
	case bytes.Contains(first, []byte("python")):
		return Python, true
	case bytes.HasSuffix(bytes.TrimSpace(first), []byte("sh")):
		return Shell, true
	}
	return "", false
}

// Document is a parsed file. It is immutable: an edit returns a new one.
type Document struct {
	name       string
	format     Format
	src        []byte
	text       string // src as a string, so that values can be slices of it
	lines      []int  // where each line begins
	counts     []int  // characters before each block; nil if every character is one byte
	root       *node
	references references
	syntax     syntax
	beside     func(name string) (text string, ok bool) // reads other files, for a shell script
}

// syntax is the part of reading and editing that differs between formats.
type syntax interface {
	// parse returns the tree of a document.
	parse(src []byte) (*node, error)
	// render returns the text of a value in the style of the value it replaces, and the value that this text
	// parses to: a quoted number stays quoted.
	render(src []byte, old *node, value any) (text string, reads any, err error)
	// insert adds nested keys, outermost first, to a map.
	insert(src []byte, parent *node, keys []string, value any) ([]splice, error)
}

// Open parses a file. The name determines the format and prefixes errors, which are of type *Error and have a
// line and a column.
func Open(name string, data []byte) (*Document, error) {
	format, ok := FormatOf(name, data)
	if !ok {
		return nil, fmt.Errorf("%s: not a kind of file that snug can edit (.yaml, .json, .toml, .py or .sh)", name)
	}
	return OpenAs(name, format, data)
}

// OpenAs parses a file of a known format.
func OpenAs(name string, format Format, data []byte) (*Document, error) {
	return OpenScript(name, format, data, nil)
}

// OpenScript parses a file of a known format. beside returns the text of a file that a shell script sources.
func OpenScript(name string, format Format, data []byte, beside func(name string) (text string, ok bool)) (*Document, error) {
	if IsNotebook(name) {
		code, err := pysrc.Notebook(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		data = []byte(code)
	}
	d := &Document{beside: beside, name: name, format: format, src: slices.Clone(data), text: string(data), lines: lineStarts(data), counts: characterCounts(data)}
	if len(data) > maxSize {
		return nil, d.errorAt(0, fmt.Errorf("%d bytes is too large for a config (at most %d)", len(data), maxSize))
	}
	switch format {
	case YAML:
		d.syntax = yamlSyntax{}
	case JSON:
		d.syntax = jsonSyntax{}
	case TOML:
		d.syntax = tomlSyntax{}
	case Python:
		d.syntax = pythonSyntax{}
	case Shell:
		d.syntax = &shellSyntax{beside: beside}
	default:
		return nil, fmt.Errorf("%s: unknown format %q", name, format)
	}
	root, err := d.syntax.parse(d.src)
	if err != nil {
		return nil, d.located(err)
	}
	if deep := tooDeep(root, 0); deep != nil {
		return nil, d.located(nestedTooDeep(deep.start))
	}
	d.root, d.references = root, index(root)
	return d, nil
}

// Name returns the name that the document was opened under.
func (d *Document) Name() string { return d.name }

// Format returns the document's format.
func (d *Document) Format() Format { return d.format }

// Bytes returns a copy of the document's text.
func (d *Document) Bytes() []byte { return slices.Clone(d.src) }

// Text returns the document's text.
func (d *Document) Text() string { return d.text }
