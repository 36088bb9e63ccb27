// SPDX-License-Identifier: Apache-2.0

// Package snug estimates how much GPU memory a PyTorch training run takes, without running it. It needs no Python, no
// GPU and no network: it simulates the run op by op and plays its allocations through a model of PyTorch's caching
// allocator.
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
//   - [Estimate]: how much memory does a run take, and for what?
//   - [MaxBatch]: what is the largest batch that fits?
//   - [Optimize]: which settings train fastest on a card?
//   - [Predict]: what does a recorded training step take at other sizes?
//   - [Replay]: what did a recorded run take, and what would it take with other
//     allocator settings?
//
// A run that does not fit is an answer, not an error: [Answer.Fits] is false,
// [MaxAnswer.MaxBatch] is 0, [Plan.Recommended] is nil. All functions are safe
// for concurrent use, and none changes the setup it is given.
//
// # Describing a run
//
// A [Setup] describes one training run. The model and the batch are required, and for text models also the sample
// length; every other field, if left empty, gets the default of PyTorch or transformers. [Parse] reads a Setup from
// JSON or YAML. encoding/json reads and writes the same form, which `snug estimate --setup` also accepts.
//
// A [Model] is given in one of four ways: a built-in name ([Models] lists them), the contents of a Hugging Face
// config.json, the path of one, or a profile made by `snug profile` or [FitProfile]. A profile works for any model,
// including those that cannot be simulated.
//
// A [Card] is a GPU. [FindCard] finds one by name; [CardWithMemory] makes one from its memory size alone. The zero
// Card is unlimited: the answer then reports whether the run fits only if the setup has a Limit.
//
// # Units
//
// Memory is in bytes. The type [Bytes] prints with a unit, such as "7.43 GiB", and is a
// plain integer in JSON. Times are in seconds. A batch is the number of samples that one GPU sees in
// one forward pass; the effective batch is batch × accumulation × GPUs. For a run on several
// GPUs, figures are per GPU.
//
// # What is exact, and what is estimated
//
// PeakAllocated and PeakReserved are simulated, without a safety factor. In more than nine out of ten measured runs,
// the peaks are exact to the byte. The allocator model is exact: a replayed snapshot reserves the same memory as the
// recorded run did, request by request, and [ReplayAnswer.Exact] reports this.
//
// Some things cannot be known before the run, such as whether a gradient scaler skips
// the first updates. [Answer.Interval] covers them, and adds how far off the estimates of
// similar measured runs were; [Answer.Evidence] names those runs.
//
// Two kinds of figures are estimates. Outside, the memory of the CUDA context and loaded kernels, was measured on an
// H200 and is assumed on other cards. StepSeconds and SamplesPerSecond come from a model of the card's speed.
// [Answer.Notes] lists what is known to be missing from the figures.
//
// # Files and names
//
// By default a path is a file on this machine, and a model's name is looked up in the
// built-in table and then as a path. [WithFS] and [WithOpener] read files from somewhere
// else; [WithHub] and [WithHubCache] look names up somewhere else. The package itself
// never uses the network and reads no environment variables.
//
// # Canceling
//
// Every function that may take a long time takes a context. When the context ends, the function returns the context's
// error before it simulates the next micro-batch: usually within a tenth of a second, and within a second for
// state-space models, which are simulated token by token.
//
// # Errors
//
// A mistake in a setup or an option is a [*FieldError], which names the field and says what to do. Test for
// [ErrUnknownModel], [ErrUnknownCard], [ErrNoLimit] and [ErrTooLong] with errors.Is. Errors about files wrap the file
// system's error. If only a recording can answer the question, the message ends with the `snug profile` command that
// makes one.
package snug
