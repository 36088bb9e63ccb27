// SPDX-License-Identifier: Apache-2.0

package systems

// Deviation is how a run's memory differs from the figures because of something that is not counted.
type Deviation string

// The deviations.
const (
	takesLess     Deviation = "this is not counted, so the run needs less memory than shown"
	takesMore     Deviation = "this is not counted, so the run needs more memory than shown"
	mayTakeMore   Deviation = "this is not counted, so the run may need more memory than shown"
	takesMoreOver Deviation = "this is not counted, so on several machines the run needs more memory than shown"
	takesEither   Deviation = "this is not counted, so the run may need more or less memory than shown"
)

// less returns a switch that saves memory that the figures still include.
func less(path, does, source string) Key {
	return Key{Setting: "noted", Path: path, Kind: Switch, Means: does, Then: takesLess, Source: source}
}

// either returns a switch that may save or cost memory.
func either(path, does, source string) Key {
	return Key{Setting: "noted", Path: path, Kind: Switch, Means: does, Then: takesEither, Source: source}
}

// refusedWith returns a key that exists only for another kind of training, which is refused.
func refusedWith(path, does, source string) Key {
	return Key{Setting: "refused", Path: path, Kind: Present, Means: "belongs to a run that " + does, Source: source}
}

// splits returns the key for the number of GPUs that a model's layers are split over.
func splits(path, source string) Key {
	return Key{Setting: "refused", Path: path, Kind: Above1, Means: splitsLayers, Source: source}
}

// shares returns the key for the number of GPUs that each sample's tokens are split over.
func shares(path, source string) Key {
	return Key{Setting: "noted", Path: path, Kind: Above1, Means: splitsTokens, Then: takesLess, Source: source}
}
