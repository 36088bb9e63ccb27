// SPDX-License-Identifier: Apache-2.0

package family

import (
	"cmp"
	"fmt"
	"sort"
	"strings"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// torchvision maps names to models; they have no configuration.
var torchvision = map[string]func(b *nn.Builder, classes int) shadow.Module{
	"resnet18":       func(b *nn.Builder, n int) shadow.Module { return newResNet(b, n, basicBlock, 2, 2, 2, 2) },
	"resnet34":       func(b *nn.Builder, n int) shadow.Module { return newResNet(b, n, basicBlock, 3, 4, 6, 3) },
	"resnet50":       func(b *nn.Builder, n int) shadow.Module { return newResNet(b, n, bottleneck, 3, 4, 6, 3) },
	"resnet101":      func(b *nn.Builder, n int) shadow.Module { return newResNet(b, n, bottleneck, 3, 4, 23, 3) },
	"resnet152":      func(b *nn.Builder, n int) shadow.Module { return newResNet(b, n, bottleneck, 3, 8, 36, 3) },
	"convnext_tiny":  func(b *nn.Builder, n int) shadow.Module { return newConvNeXt(b, n, 0.1, 96, 3, 3, 9, 3) },
	"convnext_small": func(b *nn.Builder, n int) shadow.Module { return newConvNeXt(b, n, 0.4, 96, 3, 3, 27, 3) },
	"convnext_base":  func(b *nn.Builder, n int) shadow.Module { return newConvNeXt(b, n, 0.5, 128, 3, 3, 27, 3) },
	"convnext_large": func(b *nn.Builder, n int) shadow.Module { return newConvNeXt(b, n, 0.5, 192, 3, 3, 27, 3) },
}

const (
	torchvisionPrefix = "torchvision/"
	imageNetClasses   = 1000
	convNeXtLeast     = 32 // its four convolutions without padding divide each side by 4, 2, 2 and 2
)

// ImageNetSide is the width and height of images if nothing gives them.
const ImageNetSide = 224

// Named builds a model that has a name but no config, such as torchvision/resnet50.
func Named(b *nn.Builder, name string, run Run) (Model, error) {
	mk := torchvision[strings.TrimPrefix(name, torchvisionPrefix)]
	if !strings.HasPrefix(name, torchvisionPrefix) || mk == nil {
		return nil, fmt.Errorf("model.name %q is not known; known: %s", name, strings.Join(NamedModels(), ", "))
	}
	if run.Checkpointing {
		return nil, refuse("checkpointing", "torchvision's models have no switch for gradient checkpointing")
	}
	run.Head = cmp.Or(run.Head, torchvisionFacts.Heads[0])
	if err := torchvisionFacts.check(name, run); err != nil {
		return nil, err
	}
	if run.Images.Count == 0 {
		run.Images = Images{1, ImageNetSide, ImageNetSide}
	}
	if least := min(run.Images.Height, run.Images.Width); strings.HasPrefix(name, torchvisionPrefix+"convnext") && least < convNeXtLeast {
		return nil, refuse("image_size", "%d is smaller than %d pixels, the least that %s can shrink by 32", least, convNeXtLeast, name)
	}
	dtype := b.DType
	b.DType = shadow.Float32
	m := &imageClassifier{net: net{w: b.W, run: run}, model: mk(b, cmp.Or(run.Classes, imageNetClasses)), dtype: dtype}
	b.To(dtype)
	return m, nil
}

// NamedModels lists the names that Named accepts, in order.
func NamedModels() []string {
	out := make([]string, 0, len(torchvision))
	for k := range torchvision {
		out = append(out, torchvisionPrefix+k)
	}
	sort.Strings(out)
	return out
}

// imageClassifier trains a torchvision model on images of the run's size: F.cross_entropy(model(pixel_values),
// labels). The images have the weights' type, as convolutions require.
type imageClassifier struct {
	net
	model shadow.Module
	dtype shadow.DType
}

// Batch makes images and a class for each.
func (m *imageClassifier) Batch() Batch {
	return Batch{
		Pixels: m.w.Input(m.dtype, m.run.Batch, 3, m.run.Images.Height, m.run.Images.Width),
		Labels: m.w.Input(shadow.Int64, m.run.Batch),
	}
}

// Loss returns the cross entropy of the model's logits.
func (m *imageClassifier) Loss(b Batch) *shadow.Tensor {
	fn := m.w.Func()
	logits := fn.Let(m.w.Call(m.model, b.Pixels)) // (B, classes)
	m.run.Calling.keepLogits(logits)
	if b.Labels == nil {
		return fn.Return(nil)
	}
	return fn.Return(logits.CrossEntropy(b.Labels))
}
