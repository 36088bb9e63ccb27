// SPDX-License-Identifier: Apache-2.0

// Package snug says how much GPU memory a PyTorch training run takes before it
// runs. It needs neither Python nor a GPU nor a network: the run is simulated op by
// op, and its allocations go through a model of PyTorch's caching allocator.
//
//	run := &snug.Setup{Model: snug.Model{Name: "llama-3.2-1b"}, Batch: 4, Seq: 2048, Precision: snug.BF16}
//	card, err := snug.FindCard("RTX 4090")
//	...
//	answer, err := snug.Estimate(ctx, run, card)
//	...
//	fmt.Println(answer.DevicePeak, *answer.Fits)
//
// # Questions
//
// Each question is one function:
//
//   - [Estimate]: how much memory a run takes, and what for
//   - [MaxBatch]: the largest batch that fits
//   - [Optimize]: the settings that train fastest on a card
//   - [Predict]: a recorded training step at other sizes
//   - [Replay]: a recorded memory snapshot, as it was or under other settings
//
// # Describing a run
//
// A [Setup] describes one training run. Only its model and its batch are required; a
// field that is left empty has the default of PyTorch or transformers. [Parse] reads a
// Setup from JSON or YAML, and encoding/json reads and writes it in the same form, which
// is also what `snug estimate --setup` takes.
//
// A [Model] is given in one of four ways: by a built-in name ([Models] lists them), by the
// contents of a Hugging Face config.json, by the path of one, or by a profile that
// `snug profile` or [FitProfile] recorded. The last way covers models that no family
// of this package knows.
//
// A [Card] is a GPU: by name with [FindCard], or by its memory alone with
// [CardWithMemory]. The zero Card has no end, and answers then do not say whether the run
// fits, unless the setup has a Limit.
//
// # Units
//
// Memory is in bytes ([Bytes]), which print as GiB and are plain integers in JSON.
// Times are in seconds. A batch is the samples of one GPU in one forward pass; the
// effective batch is batch × accumulation × GPUs.
//
// # What is exact, and what is estimated
//
// The allocator's model is exact: a recorded snapshot, replayed, takes the same bytes
// at every event. So are simulated runs for most settings: nine in ten of the measured
// peaks equal PyTorch's to the byte. PeakAllocated and PeakReserved are that simulation,
// not a formula with a safety factor. What nobody can know before the run (whether a
// gradient scaler skips updates, which kernels a card chooses) is in
// [Answer.Interval], together with how far off estimates of similar measured runs were;
// [Evidence] says which runs those are.
//
// Estimated are Outside, what a process holds beside PyTorch's allocator, which was
// measured on one card and assumed on others, and everything in seconds: StepSeconds and
// SamplesPerSecond come from a model of the card's speed. What is known to be left out
// is in the answer's Notes.
//
// # Files and names
//
// By default a path in a setup is a file of this machine, and a model's name is looked up
// in the built-in table and then as a path. [WithFS] and [WithOpener] read files from
// elsewhere, [WithHub] and [WithHubCache] look names up elsewhere. This package itself
// never uses the network.
//
// # Cancelling
//
// Every function that may take long takes a context. Once that has ended, a question ends
// with the context's error before the next simulated micro-batch, which is soon: a model that
// goes token by token may take a second or two more.
//
// # Errors
//
// What is wrong with a setup or an option is a [*FieldError], which names the field.
// [ErrUnknownModel], [ErrUnknownCard], [ErrNoLimit] and [ErrTooLong] are for errors.Is.
// Where only a recording can tell, the message ends with the command that makes one.
package snug
