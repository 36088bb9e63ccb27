// SPDX-License-Identifier: Apache-2.0

package train

import (
	"sort"

	"snug/internal/shadow"
)

// ZeroPartition returns the parameters that the first process updates under
// torch.distributed.optim.ZeroRedundancyOptimizer: from largest to smallest, each is assigned to the process with
// the fewest elements so far (torch/distributed/optim/zero_redundancy_optimizer.py, 2.11). Updated parameters are
// broadcast in place, one by one, without additional memory.
func ZeroPartition(params []*shadow.Tensor, world int) []*shadow.Tensor {
	byCount := append([]*shadow.Tensor(nil), params...)
	sort.SliceStable(byCount, func(i, j int) bool { return byCount[i].Numel() > byCount[j].Numel() })
	held := make([]int, world)
	var mine []*shadow.Tensor
	for _, p := range byCount {
		least := 0
		for rank := range held {
			if held[rank] < held[least] {
				least = rank
			}
		}
		held[least] += p.Numel()
		if least == 0 {
			mine = append(mine, p)
		}
	}
	return mine
}
