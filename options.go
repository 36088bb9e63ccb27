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

// Option says where files and models come from. Without any, files are those of this
// machine and names those of the built-in table.
type Option func(*options)

// options holds what the Options set.
type options struct {
	open  func(name string) (io.ReadCloser, error)
	hub   Hub
	cache string
}

// WithOpener opens all files with a function: configs, profiles and snapshots. The
// function gets the path as the caller wrote it, and returns fs.ErrNotExist if there is no
// such file.
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
	// Config returns the contents of the model's config.json. If the error is
	// ErrUnknownModel, the name is looked up as without a hub; any other error ends the call.
	Config(ctx context.Context, name string) (map[string]any, error)
}

// HubFunc makes a function a [Hub].
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

// Models returns the built-in names of models.
func Models() []string { return append(catalog.Names(), family.NamedModels()...) }

func optionsOf(list []Option) *options {
	o := &options{open: func(name string) (io.ReadCloser, error) { return files.Open(name) }}
	for _, set := range list {
		set(o)
	}
	return o
}

// source returns where a setup finds what it names.
func (o *options) source(ctx context.Context) setup.Source {
	open := func(name string) (io.ReadCloser, error) { return o.opened(ctx, name) }
	return setup.Source{Open: open, Hub: o.cache, Profile: estimate.ReadProfile, Survey: estimate.Survey}
}

// opened opens a file whose reads fail once the context has ended.
func (o *options) opened(ctx context.Context, name string) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := o.open(name)
	if err != nil {
		return nil, err
	}
	return cancelled{f, ctx.Err}, nil
}

// cancelled is a file that returns an error once its context has ended.
type cancelled struct {
	io.ReadCloser
	stopped func() error
}

func (c cancelled) Read(p []byte) (int, error) {
	if err := c.stopped(); err != nil {
		return 0, err
	}
	return c.ReadCloser.Read(p)
}

// lookedUp puts the config that the hub has for a model into the fields of a setup, in
// place of the name.
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
