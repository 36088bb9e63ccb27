// SPDX-License-Identifier: Apache-2.0

package script

// Hooks that run a model again while gradients are computed, as losses over large batches do.

// afterwards is a call that follows the next backward pass.
type afterwards struct{ fn, arg value }

func registerAfterwards() { natives["snug.after_backward"] = afterBackward }

// afterBackward implements snug.after_backward(loss, fn, arg): fn(arg) is called once the gradient of the loss is known.
// The loss is a leaf: no operation made it.
func afterBackward(in *interpreter, a arguments) value {
	in.afterwards = append(in.afterwards, afterwards{fn: hold(a.or(1, "fn", nil)), arg: hold(a.or(2, "arg", nil))})
	return nil
}

// runAfterwards runs the calls that follow a backward pass.
func (in *interpreter) runAfterwards() {
	todo := in.afterwards
	in.afterwards = nil
	for _, x := range todo {
		drop(in.invoke(x.fn, arguments{pos: []value{x.arg}}))
		drop(x.fn)
	}
}
