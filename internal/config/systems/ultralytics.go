// SPDX-License-Identifier: Apache-2.0

package systems

import "snug/internal/config/doc"

const ultralyticsDefaults = "ultralytics 8.4, cfg/default.yaml"

// ultralytics is the YAML for training YOLO. batch is the total over all GPUs. With -1 or a fraction, YOLO chooses
// the batch (projects/read_value.go ignores both). Accumulation follows from nbs.
var ultralytics = System{
	Name: "ultralytics", Title: "Ultralytics", Formats: []doc.Format{doc.YAML},
	Signs: []string{"imgsz batch", "imgsz workers", "imgsz epochs", "imgsz model"},
	Keys:  keysOf(ultralyticsKeys),

	Behavior: Behavior{RoundsAccumulation: true},
}

func ultralyticsKeys() []Key {
	return []Key{
		{Setting: "model", Path: "model", Kind: Name, Source: ultralyticsDefaults},
		{Setting: "batch", Path: "batch", Kind: Whole, OverGPUs: true, Unit: "samples over all GPUs", Default: "16", Source: ultralyticsDefaults},
		{Setting: "effective", Path: "nbs", Kind: Whole, OverGPUs: true, Unit: "samples over all GPUs", Default: "64", Source: ultralyticsDefaults + ", engine/trainer.py"},
		{Setting: "precision", Path: "amp", Kind: Word, Words: []Term{{"true", "amp-fp16"}, {"fp16", "amp-fp16"}, {"bf16", "amp-bf16"}, {"false", "fp32"}, {"fp32", "fp32"}}, Default: "true", Source: ultralyticsDefaults},
		{Setting: "image", Path: "imgsz", Kind: Whole, Unit: "pixels", Default: "640", Source: ultralyticsDefaults},
		{Setting: "workers", Path: "workers", Kind: Whole, Unit: "processes per GPU", Default: "8", Source: ultralyticsDefaults},
		{Setting: "optimizer", Path: "optimizer", Kind: Word, Words: []Term{{"AdamW", "adamw"}, {"Adam", "adam"}, {"SGD", "sgd"}}, Reads: anyOptimizer, Default: "auto", Source: ultralyticsDefaults},
	}
}
