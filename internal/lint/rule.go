// SPDX-License-Identifier: Apache-2.0

package lint

import "slices"

// Rule is one kind of problem that lint looks for.
type Rule struct {
	Code     string // SNG and three digits; the first is the group
	Name     string // a readable name, for SARIF and the page
	Title    string // one line: what is wrong
	Why      string // what the problem costs
	Evidence string // a measurement, or the source of the fact
	Bad      string // an example in which the rule applies
	Good     string // the same example, corrected
	Fixes    bool   // --fix can repair the code, at least in simple cases
	Optional bool   // the rule is off unless selected
	InTests  bool   // also applies to unit tests

	check func(*module, *reporter)
}

// Rules returns all rules, by code.
func Rules() []Rule {
	return []Rule{
		keptGraph, summedLoss, keptOutput, collectedOutputs, concatenated, hookKeeps, copiedWeights, retriedInHandler, keptOnSelf,
		evaluationWithGraph,
		zeroGradMissing, zeroGradMisplaced, retainedGraph,
		logitsOfEvaluation, logitsForLoss, tooLarge, paddedToMaximum,
		cacheWithCheckpoints, frozenInputs,
		emptiedCache, misspelledVariable, lateVariable, newVariable,
		noWorkers, notPinned,
		deprecatedAMP,
	}
}

// RuleOf returns the rule with a code.
func RuleOf(code string) (Rule, bool) {
	rules := Rules()
	i := slices.IndexFunc(rules, func(r Rule) bool { return r.Code == code })
	if i < 0 {
		return Rule{}, false
	}
	return rules[i], true
}

// Codes returns the codes of all rules.
func Codes() []string {
	var out []string
	for _, r := range Rules() {
		out = append(out, r.Code)
	}
	return out
}
