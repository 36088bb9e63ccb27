// SPDX-License-Identifier: Apache-2.0

package shadow

// GradEnabled reports whether ops record a graph.
func (w *World) GradEnabled() bool { return w.gradMode }

// SetGrad switches recording on or off.
func (w *World) SetGrad(on bool) { w.gradMode = on }

// NoGrad switches recording off until the function it returns is called.
func (w *World) NoGrad() func() {
	was := w.gradMode
	w.gradMode = false
	return func() { w.gradMode = was }
}
