// SPDX-License-Identifier: Apache-2.0

// Package revision reads the files of a git revision, for a comparison with the working tree.
//
// It reads the tree and its blobs with git and writes them into a separate folder. The repository is only read: no
// checkout, no index, no hooks, and none of the filters in .gitattributes, so that Git LFS files stay pointers and
// nothing is downloaded.
package revision

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"snug/internal/files"
)

// MaxBytes is the size of the largest file that is written. Configs and scripts are far smaller; larger files are
// data, which no figure depends on.
const MaxBytes = 64 << 20

// maxLink is longer than any link target.
const maxLink = 1 << 16

// ErrNoGit means that git is not available.
var ErrNoGit = errors.New("git is not installed, or not in PATH")

// Tree is a revision whose files have been written to a folder.
type Tree struct {
	Commit string   // the full name of the commit
	Folder string   // the revision's copy of the given folder
	Left   []string // omitted paths: too large, or links that leave the repository
}

// Extract writes a revision's files, from the repository that contains folder.
func Extract(ctx context.Context, folder, revision, into string) (*Tree, error) {
	if _, err := exec.LookPath("git"); err != nil {
		return nil, ErrNoGit
	}
	g := git{ctx, folder}
	prefix, err := g.ask("rev-parse", "--show-prefix")
	if err != nil {
		return nil, fmt.Errorf("%s is not in a git repository: %w", folder, err)
	}
	commit, err := g.commit(revision)
	if err != nil {
		return nil, err
	}
	out := &Tree{Commit: commit, Folder: filepath.Join(into, filepath.FromSlash(prefix))}
	entries, err := g.entries(commit)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(into)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	out.Left, err = g.write(entries, root)
	return out, err
}

// git runs git commands in the repository that contains a folder.
type git struct {
	ctx    context.Context
	folder string
}

func (g git) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(g.ctx, "git", append([]string{"-C", g.folder}, args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0")
	return cmd
}

// ask returns a command's output, without the final newline.
func (g git) ask(args ...string) (string, error) {
	var stderr bytes.Buffer
	cmd := g.command(args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", failure(err, stderr.String())
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

// failure returns git's own message as an error, if it wrote one.
func failure(err error, stderr string) error {
	first, _, _ := strings.Cut(strings.TrimSpace(stderr), "\n")
	if first == "" {
		return fmt.Errorf("git: %w", err)
	}
	return fmt.Errorf("git: %s", strings.TrimPrefix(first, "fatal: "))
}

// commit returns the full name of the commit that a revision refers to.
func (g git) commit(revision string) (string, error) {
	unknown := fmt.Errorf("%q is not a revision in this repository; run git fetch first, in a shallow clone with --depth or --unshallow", revision)
	if revision == "" || strings.HasPrefix(revision, "-") {
		return "", unknown
	}
	name, err := g.ask("rev-parse", "--verify", "--quiet", revision+"^{commit}")
	if err != nil {
		return "", unknown
	}
	return name, nil
}

// entry is a file or a link in a tree.
type entry struct {
	path, blob string
	size       int64
	link       bool
}

// entries lists a commit's files and links, in git's order. It omits submodules, which are other repositories.
func (g git) entries(commit string) ([]entry, error) {
	list, err := g.ask("ls-tree", "-r", "-z", "--long", "--full-tree", commit)
	if err != nil {
		return nil, err
	}
	var out []entry
	for row := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
		if row == "" {
			continue
		}
		facts, path, named := strings.Cut(row, "\t")
		words := strings.Fields(facts) // mode, type, name, size
		if !named || len(words) != 4 {
			return nil, fmt.Errorf("git ls-tree printed %q, which is not a tree entry", row)
		}
		if words[1] != "blob" {
			continue
		}
		size, err := strconv.ParseInt(words[3], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("git ls-tree printed the size %q", words[3])
		}
		out = append(out, entry{path: path, blob: words[2], size: size, link: words[0] == "120000"})
	}
	return out, nil
}

// write writes the entries below root, all from one git process, and returns the paths that it omitted.
func (g git) write(entries []entry, root *os.Root) (left []string, err error) {
	var wanted []entry
	var names strings.Builder
	for _, e := range entries {
		if e.size > MaxBytes {
			left = append(left, e.path)
			continue
		}
		wanted = append(wanted, e)
		names.WriteString(e.blob + "\n")
	}
	cmd := g.command("cat-file", "--batch")
	cmd.Stdin = strings.NewReader(names.String())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	in := bufio.NewReader(out)
	for _, e := range wanted {
		inside, err := e.writeFrom(in, root)
		if err != nil {
			_ = out.Close()
			_ = cmd.Wait() // git fails only because its output is no longer read; err is the cause
			return nil, fmt.Errorf("writing %s: %w", e.path, err)
		}
		if !inside {
			left = append(left, e.path)
		}
	}
	if err := cmd.Wait(); err != nil {
		return nil, failure(err, stderr.String())
	}
	return left, nil
}

// writeFrom writes an entry whose blob comes next in git's output: a line with its name, type and size, its bytes,
// and a newline. It reports false for a link that would leave the tree, which is not written.
func (e entry) writeFrom(in *bufio.Reader, root *os.Root) (inside bool, err error) {
	header, err := in.ReadString('\n')
	if err != nil {
		return false, err
	}
	if want := fmt.Sprintf("%s blob %d\n", e.blob, e.size); header != want {
		return false, fmt.Errorf("git has no such blob: %s", strings.TrimSpace(header))
	}
	body := io.LimitReader(in, e.size)
	path := filepath.FromSlash(e.path)
	if err := root.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return false, err
	}
	if inside, err = e.put(body, root, path); err != nil {
		return false, err
	}
	_, err = in.Discard(1)
	return inside, err
}

// put writes an entry to its path.
func (e entry) put(body io.Reader, root *os.Root, path string) (inside bool, err error) {
	if e.link {
		target, err := files.ReadAll(body, maxLink)
		to := filepath.FromSlash(string(target))
		if err != nil || filepath.IsAbs(to) || !filepath.IsLocal(filepath.Join(filepath.Dir(path), to)) {
			return false, err
		}
		return true, root.Symlink(to, path)
	}
	f, err := root.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false, err
	}
	_, err = io.Copy(f, body)
	return true, errors.Join(err, f.Close())
}
