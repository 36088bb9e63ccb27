// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"snug/internal/config/doc"
	"snug/internal/config/tree"
)

// Files reads a project's files. Names are relative to its folder, with slashes.
type Files interface {
	// ReadFile returns the content of a file.
	ReadFile(name string) ([]byte, error)
	// ReadDir lists a folder, sorted by name.
	ReadDir(name string) ([]fs.DirEntry, error)
}

// skipped are folders that do not contain the user's own configuration.
var skipped = []string{
	"examples", "docs", "node_modules", "__pycache__", "venv", "env", "site-packages", "dist-packages", "wandb", "mlruns", "outputs", "output",
	"checkpoints", "lightning_logs", "logs", "runs", "build", "dist", "target", "data", "datasets", "test", "tests", "testdata",
}

// notOurs are names of JSON files that other tools write.
var notOurs = []string{
	"config.json", "package.json", "package-lock.json", "tsconfig.json", "tokenizer.json", "tokenizer_config.json", "vocab.json",
	"special_tokens_map.json", "generation_config.json", "trainer_state.json", "adapter_config.json", "docker-compose.yaml",
	"docker-compose.yml", "mkdocs.yml", ".pre-commit-config.yaml", "pyproject.toml", "poetry.lock", "setup.py",
}

// scan returns the files in a folder that may be configurations; large are those that are too large to be
// read.
func scan(files Files) (out []candidateFile, large []string, err error) {
	entriesSeen := 0
	queue := []string{"."}
	for n := 0; n < len(queue); n++ {
		if n >= maxFolders {
			return nil, nil, fmt.Errorf("there are more than %d folders here; name the config: --config-path FILE", maxFolders)
		}
		entries, err := files.ReadDir(queue[n])
		if err != nil {
			if queue[n] == "." {
				return nil, nil, reason(err)
			}
			continue // skip folders that cannot be read
		}
		if entriesSeen += len(entries); entriesSeen > maxEntries {
			return nil, nil, fmt.Errorf("there are more than %d files here; name the config: --config-path FILE", maxEntries)
		}
		for _, e := range entries {
			name := path.Join(queue[n], e.Name())
			switch {
			case e.IsDir():
				if !strings.HasPrefix(e.Name(), ".") && !slices.Contains(skipped, strings.ToLower(e.Name())) && strings.Count(name, "/") < deepestFolder {
					queue = append(queue, name)
				}
			case !mayBeConfig(e.Name()):
			case sizeOf(e) > largestFile:
				if !isData(name) {
					large = append(large, name)
				}
			default:
				if out = append(out, candidateFile{name, sizeOf(e)}); len(out) > maxFiles {
					return nil, nil, fmt.Errorf("there are more than %d possible configs here; name one: --config-path FILE", maxFiles)
				}
			}
		}
	}
	return out, large, nil
}

func sizeOf(e fs.DirEntry) int64 {
	info, err := e.Info()
	if err != nil {
		return 0
	}
	return info.Size()
}

// mayBeConfig reports whether a file may be a configuration, by its name.
func mayBeConfig(name string) bool {
	name = strings.ToLower(name)
	_, ok := doc.FormatOf(name, nil)
	return ok && !doc.IsNotebook(name) && !strings.HasPrefix(name, ".") && !slices.Contains(notOurs, name) && name != SnugFile
}

// isData reports whether a large file is data rather than a configuration, by its name: large JSON files
// are common.
func isData(name string) bool { return strings.EqualFold(path.Ext(name), ".json") && !usualName(name) }

// largeNote returns the note on files that are too large to be read unless the user names them, usual names
// first.
func largeNote(large []string) string {
	slices.SortStableFunc(large, func(a, b string) int {
		switch {
		case usualName(a) == usualName(b):
			return 0
		case usualName(a):
			return -1
		}
		return 1
	})
	return fmt.Sprintf("%s%s: larger than %d MiB, too large for a config; if it is one, name it: --config-path FILE", unreadable, Enumerate(large), largestFile>>20)
}

// saysBatch reports whether a Python file contains a batch name that the plain system looks for: batch_size,
// batch-size or batchsize in any case, or a flag such as "--bs" or "--batch".
func saysBatch(text []byte) bool {
	for i, c := range text {
		switch c {
		case 'b', 'B':
			rest, ok := cutFold(text[i:], "batch")
			if ok && len(rest) > 0 && (rest[0] == '_' || rest[0] == '-') {
				rest = rest[1:]
			}
			if _, size := cutFold(rest, "size"); ok && size {
				return true
			}
		case '"', '\'':
			for _, flag := range batchFlags {
				rest, ok := cutFold(text[i+1:], flag)
				if ok && len(rest) > 0 && rest[0] == c {
					return true
				}
			}
		}
	}
	return false
}

// batchFlags are the usual batch flags whose names do not end in size.
var batchFlags = []string{"--bs", "--bsz", "--batch"}

// cutFold cuts a word off the beginning of text, ignoring case; ok is false if text does not begin with
// it.
func cutFold(text []byte, word string) (rest []byte, ok bool) {
	if len(text) < len(word) || !strings.EqualFold(string(text[:len(word)]), word) {
		return text, false
	}
	return text[len(word):], true
}

// readSource reads a file and finds its system; nil if it has none. A file that a search found counts against
// the parsing limit.
func readSource(files *reader, name string, searching bool) (*Source, []string, error) {
	data, err := files.ReadFile(name)
	if searching && errors.Is(err, errDense) {
		return nil, nil, errSpent
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", name, reason(err))
	}
	if format, _ := doc.FormatOf(name, data); format == doc.Python && !saysBatch(data) {
		return nil, nil, nil // parsing every program here would take too long
	}
	if searching {
		if files.parse -= len(data); files.parse < 0 {
			return nil, nil, errSpent
		}
	}
	d, err := openFile(files, name, data)
	if err != nil {
		return nil, nil, err
	}
	t := tree.New(withParsers(files, name, d)...)
	t.Renamed = renamed(files, name, d)
	a := recognize(t)
	if a == nil {
		return nil, nil, nil
	}
	s := NewSource(name, a, t)
	if a.Commands != nil {
		s.program = s.programTrainer(files)
	}
	if !a.Composes {
		return s, nil, nil
	}
	var notes []string
	s.Tree, notes, err = composeHydra(files, name, d)
	return s, notes, err
}

// openFile parses a file. A shell script may source others, by a path relative to the project's folder or to
// its own.
func openFile(files Files, name string, data []byte) (*doc.Document, error) {
	format, known := doc.FormatOf(name, data)
	if !known || format != doc.Shell {
		return doc.Open(name, data)
	}
	return doc.OpenScript(name, format, data, func(sourced string) (string, bool) {
		for _, at := range []string{path.Join(path.Dir(name), sourced), path.Clean(sourced)} {
			if format, known := doc.FormatOf(at, nil); !known || format != doc.Shell || path.IsAbs(at) {
				continue
			}
			if text, err := files.ReadFile(at); err == nil && len(text) <= largestFile {
				return string(text), true
			}
		}
		return "", false
	})
}

// reason returns an error without its operation and path, which the caller's message contains.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
