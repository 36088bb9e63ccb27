// SPDX-License-Identifier: Apache-2.0

package snug

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"snug/internal/catalog"
	"snug/internal/estimate"
	"snug/internal/family"
	"snug/internal/files"
	"snug/internal/setup"
)

// Option sets where files and models come from. By default, files are read from this machine and names are looked up
// in the built-in table.
type Option func(*options)

// options holds the settings that Options change.
type options struct {
	open  func(name string) (io.ReadCloser, error)
	hub   Hub
	cache string
}

// WithOpener opens all files (configs, profiles and snapshots) with a function. The function gets the path as the
// caller wrote it, and returns fs.ErrNotExist if the file does not exist.
func WithOpener(open func(name string) (io.ReadCloser, error)) Option {
	return func(o *options) { o.open = open }
}

// WithFS reads all files from a file system. Paths are slash-separated and relative to its root.
func WithFS(fsys fs.FS) Option {
	return WithOpener(func(name string) (io.ReadCloser, error) {
		return fsys.Open(path.Clean(filepath.ToSlash(name)))
	})
}

// Hub looks models up by name.
type Hub interface {
	// Config returns the contents of the model's config.json. If the error is ErrUnknownModel, the name is looked up
	// as if there were no hub; any other error ends the call.
	Config(ctx context.Context, name string) (map[string]any, error)
}

// HubFunc is a function that implements [Hub].
type HubFunc func(ctx context.Context, name string) (map[string]any, error)

// Config calls the function.
func (f HubFunc) Config(ctx context.Context, name string) (map[string]any, error) {
	return f(ctx, name)
}

// WithHub looks model names up in a hub first, and then in the built-in table.
func WithHub(h Hub) Option { return func(o *options) { o.hub = h } }

// WithHubCache also looks model names up in the folder where the Hugging Face libraries
// keep their downloads, such as ~/.cache/huggingface/hub. The built-in table comes first.
func WithHubCache(folder string) Option { return func(o *options) { o.cache = folder } }

// Models returns the names of the built-in models.
func Models() []string { return append(catalog.Names(), family.NamedModels()...) }

func optionsOf(list []Option) *options {
	o := &options{open: func(name string) (io.ReadCloser, error) { return files.Open(name) }}
	for _, set := range list {
		set(o)
	}
	return o
}

// source returns the source that resolves the names in a setup.
func (o *options) source(ctx context.Context) setup.Source {
	open := func(name string) (io.ReadCloser, error) { return o.opened(ctx, name) }
	return setup.Source{Open: open, Hub: o.cache, Profile: estimate.ReadProfile, Survey: estimate.Survey}
}

// opened opens a file for reading. Reads fail once the context has ended.
func (o *options) opened(ctx context.Context, name string) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := o.open(name)
	if err != nil {
		return nil, err
	}
	return canceled{f, ctx.Err}, nil
}

// canceled is a file that returns an error once its context has ended.
type canceled struct {
	io.ReadCloser
	stopped func() error
}

func (c canceled) Read(p []byte) (int, error) {
	if err := c.stopped(); err != nil {
		return 0, err
	}
	return c.ReadCloser.Read(p)
}

// lookedUp replaces a model's name in a setup's fields with the config that the hub returns.
func (o *options) lookedUp(ctx context.Context, fields map[string]any) error {
	model, _ := fields["model"].(map[string]any)
	name, _ := model["name"].(string)
	if o.hub == nil || name == "" || strings.HasPrefix(name, "torchvision/") {
		return nil
	}
	config, err := o.hub.Config(ctx, name)
	switch {
	case errors.Is(err, ErrUnknownModel):
		return nil
	case err != nil:
		return err
	}
	delete(model, "name")
	return setConfig(model, config)
}
