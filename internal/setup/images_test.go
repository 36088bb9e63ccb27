// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"strings"
	"testing"
)

// TestImages checks which images a setup accepts, and what the error says about the others.
func TestImages(t *testing.T) {
	for name, x := range map[string]struct {
		fields map[string]any
		want   string // part of the error; "" means none
	}{
		"one":          {map[string]any{"images": 1.0, "image_size": 448.0}, ""},
		"text":         {map[string]any{}, ""},
		"no size":      {map[string]any{"images": 1.0}, "image_size is missing"},
		"no images":    {map[string]any{"image_size": 448.0}, "no sample has images"},
		"too large":    {map[string]any{"images": 1.0, "image_size": 1120.0}, "1 image of 1120 by 1120 pixels takes 1602 tokens"},
		"too many":     {map[string]any{"images": 4.0, "image_size": 448.0}, "4 images of 448 by 448 pixels take 1032 tokens"},
		"not a model":  {map[string]any{"model": map[string]any{"name": "gpt2"}, "images": 1.0, "image_size": 448.0}, "gpt2 has no vision tower"},
		"frozen":       {map[string]any{"freeze": []any{"vision"}}, ""},
		"nothing":      {map[string]any{"model": map[string]any{"name": "gpt2"}, "freeze": []any{"vision"}}, "gpt2 has none"},
		"fixed size":   {map[string]any{"model": map[string]any{"name": "gemma-3-4b"}, "images": 1.0}, ""},
		"another size": {map[string]any{"model": map[string]any{"name": "gemma-3-4b"}, "images": 1.0, "image_size": 448.0}, "resizes every image to 896 by 896 pixels"},
		"tiles":        {map[string]any{"model": map[string]any{"name": "internvl3-1b"}, "images": 1.0, "image_size": 448.0}, ""},
		"many tiles":   {map[string]any{"model": map[string]any{"name": "internvl3-1b"}, "images": 1.0, "image_size": 480.0, "image_width": 640.0}, "takes 3330 tokens"},
		"no tiles":     {map[string]any{"model": map[string]any{"name": "llava-v1.6-vicuna-7b"}, "images": 1.0}, "cuts images into tiles"},
		"varying text": {map[string]any{"images": 1.0, "image_size": 448.0, "lengths": "300,400", "seq": nil}, "lengths with images"},
	} {
		fields := map[string]any{"model": map[string]any{"name": "qwen2-vl-2b"}, "batch": 1.0, "seq": 1024.0}
		for k, v := range x.fields {
			fields[k] = v
		}
		_, err := Decode(fields, Source{})
		switch {
		case x.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)):
			t.Errorf("%s: %v, want %q", name, err, x.want)
		}
	}
}

// TestLargestSide checks that the side of the largest image is a multiple of a token's.
func TestLargestSide(t *testing.T) {
	for pixels, want := range map[int]int{589824: 756, 262144: 504, 1003520: 980, 0: 0} {
		if got := LargestSide("Qwen/Qwen2.5-VL-7B-Instruct", pixels); got != want {
			t.Errorf("%d pixels: %d, want %d", pixels, got, want)
		}
	}
	if got := LargestSide("Qwen/Qwen3-VL-4B-Instruct", 262144); got != 512 {
		t.Errorf("Qwen3-VL: %d", got)
	}
	if LargestSide("gpt2", 589824) != 0 || SeesImages("gpt2") {
		t.Error("gpt2 sees images")
	}
}

// TestImageSize checks which sizes a model that classifies images takes.
func TestImageSize(t *testing.T) {
	for name, x := range map[string]struct { // by model
		fields map[string]any
		side   int
		want   string // part of the error; "" means none
	}{
		"deit-base-distilled": {map[string]any{}, 224, ""},
		"dinov2-base":         {map[string]any{}, 224, ""},
		"swin-tiny":           {map[string]any{}, 224, ""},
		"swin-base":           {map[string]any{"image_size": 256.0}, 256, ""},
		"microsoft/swin-base-patch4-window12-384": {map[string]any{}, 384, ""},
		"convnext-tiny": {map[string]any{"image_size": 288.0}, 288, ""},
		"dinov2-small":  {map[string]any{"image_size": 518.0}, 518, ""},
		"facebook/deit-base-distilled-patch16-384": {map[string]any{"image_size": 224.0}, 0, "learned positions for images of 384 by 384"},
	} {
		fields := map[string]any{"model": map[string]any{"name": name}, "batch": 1.0}
		for k, v := range x.fields {
			fields[k] = v
		}
		s, err := Decode(fields, Source{})
		switch {
		case x.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case x.want == "" && s.ImagesSeen().Height != x.side:
			t.Errorf("%s: images of %d pixels, want %d", name, s.ImagesSeen().Height, x.side)
		case x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)):
			t.Errorf("%s: %v, want %q", name, err, x.want)
		}
	}
}
