// SPDX-License-Identifier: Apache-2.0

package script

import (
	"cmp"
	"strings"

	"snug/internal/shadow"
)

// Functions with which libraries inspect their arguments, and objects that use no memory, such as learning rate
// schedulers.

func registerObjects() {
	for _, name := range []string{"accelerate.utils", "accelerate.accelerator", "accelerate.data_loader", "accelerate.state", "accelerate.optimizer", "accelerate.utils.operations"} {
		aliases[name] = "accelerate"
	}
	for _, name := range []string{"lightning.trainer", "lightning.utilities", "lightning.utilities.seed", "lightning.core.module", "lightning.core.datamodule"} {
		aliases[name] = "lightning"
	}
	aliases["lightning.plugins"], aliases["lightning.plugins.precision"] = "lightning.precision", "lightning.precision"
	aliases["lightning.fabric.utilities"] = "lightning.fabric"
	for _, name := range []string{"timm.utils", "timm.optim", "timm.models", "timm.loss", "timm.data", "timm.data.mixup", "timm.scheduler", "timm.models.layers", "timm.layers"} {
		aliases[name] = "timm"
	}
	natives["snug.network"] = bareNetwork
	natives["snug.note"] = noted
	natives["snug.only_one_card"] = onlyOneCard
	natives["snug.unknown"] = func(*interpreter, arguments) value { return unknown{} }
	natives["snug.caller_arguments"] = callerArguments
	natives["snug.modes"] = modesOf
	natives["snug.set_modes"] = setModes
	natives["snug.toggled"] = toggled
	natives["snug.to_last"] = toLast
	natives["snug.optimizer_to_host"] = optimizerToHost
	natives["torch._C._cuda_clearCublasWorkspaces"] = func(in *interpreter, _ arguments) value { in.World.ClearWorkspaces(); return nil }
	natives["torch.set_default_dtype"] = setDefaultType
	natives["torch.get_default_dtype"] = defaultType
	natives["torch.set_default_device"] = setDefaultDevice
	natives["builtins.slice"] = newSlice
	natives["snug.parameters_of"] = parametersOf
	natives["torch.is_floating_point"] = isFloating
}

// registerTensorMethods adds the methods of this file to the tensor methods.
func registerTensorMethods() {
	tensorMethods["register_hook"] = func(*interpreter, *shadow.Tensor, arguments) value { return unknown{} }
	tensorMethods["is_floating_point"] = func(_ *interpreter, t *shadow.Tensor, _ arguments) value { return t.DType().Floating() }
}

// onlyOneCard implements snug.only_one_card(…): a note that the run's other cards are not followed, unless snug's own loop
// runs on all of them and the script gives only settings.
func onlyOneCard(in *interpreter, a arguments) value {
	if text, _ := a.or(0, "", nil).(string); !in.Spread {
		in.note("%s", text+"; the figure is for one card")
	}
	return nil
}

// noted implements snug.note(…) in a library file: a note on what is not followed and whether the figure is too
// high or too low.
func noted(in *interpreter, a arguments) value {
	if s, ok := a.or(0, "", "").(string); ok {
		in.note("%s", s)
	}
	return nil
}

// objectOf reports whether v is an instance of a PyTorch class, and whether that class is known.
func objectOf(v value, class namespace) (yes, known bool) {
	o, made := v.(*instance)
	derives := func(names ...string) bool {
		for _, n := range names {
			if made && o.class.derives(n) {
				return true
			}
		}
		return false
	}
	switch class {
	case "torch.nn.Module":
		_, ok := v.(*network)
		if _, part := v.(*submodule); part {
			return true, true
		}
		return ok || derives("Module", "LightningModule"), true
	case "torch.optim.Optimizer", "torch.optim.optimizer.Optimizer":
		_, ok := v.(*optimizerValue)
		return ok || derives("Optimizer"), true
	case "torch.utils.data.DataLoader":
		_, ok := v.(*loader)
		return ok || derives("DataLoader"), true
	case "torch.utils.data.IterableDataset":
		return derives("IterableDataset"), true
	case "torch.optim.lr_scheduler.LRScheduler":
		_, ok := v.(*scheduler)
		return ok || derives("LRScheduler", "_LRScheduler"), true
	}
	return false, false
}

// dictType is type(d) for a mapping d. Calling it makes another mapping of the same kind.
type dictType struct{ record, batch bool }

func (d *dictType) callSelf(in *interpreter, a arguments) value {
	out := &dict{record: d.record, batch: d.batch}
	if v, ok := a.get(0, ""); ok {
		in.merge(out, v)
	}
	for i, n := range a.names {
		out.set(n, hold(a.named[i]))
	}
	return out
}

// scheduler is a learning rate scheduler.
type scheduler struct {
	refs
	of value
}

func (s *scheduler) release() {
	if s.last() {
		drop(s.of)
	}
}

func newScheduler(a arguments) value {
	of, ok := a.get(0, "optimizer")
	if name, isName := of.(string); isName && name != "" { // get_scheduler(name, optimizer)
		of, ok = a.get(1, "optimizer")
	}
	if !ok {
		of = unknown{}
	}
	if o := unwrapped(of); o != nil {
		o.scheduled = true
	}
	return &scheduler{of: hold(of)}
}

func (s *scheduler) attr(_ *interpreter, name string) (value, bool) {
	if name == "optimizer" {
		return hold(s.of), true
	}
	return nil, false
}

func (s *scheduler) call(_ *interpreter, name string, _ arguments) value {
	if strings.HasPrefix(name, "get_") || name == "state_dict" {
		return unknown{}
	}
	return nil
}

func isFloating(_ *interpreter, a arguments) value {
	switch t := a.or(0, "input", nil).(type) {
	case *shadow.Tensor:
		return t.DType().Floating()
	case *hostTensor:
		return t.dtype.Floating()
	}
	return unknown{}
}

// parametersOf returns the parameters that an optimizer updates.
func parametersOf(_ *interpreter, a arguments) value {
	o := unwrapped(a.or(0, "", nil))
	if o == nil {
		return unknown{}
	}
	return o.parameters()
}

func (o *optimizerValue) parameters() *list {
	out := &list{}
	for _, p := range o.params {
		out.items = append(out.items, p.Hold())
	}
	return out
}

// unwrapped returns the PyTorch optimizer inside a library's optimizer, or nil if there is none.
func unwrapped(v value) *optimizerValue {
	switch o := v.(type) {
	case *optimizerValue:
		return o
	case *instance:
		for _, name := range []string{"_optimizer", "optimizer"} {
			if inner, ok := o.attrs.get(name); ok {
				return unwrapped(inner)
			}
		}
	}
	return nil
}

// newSlice implements slice(stop) and slice(start, stop, step).
func newSlice(_ *interpreter, a arguments) value {
	if len(a.pos) == 1 {
		return &slice{hi: a.pos[0]}
	}
	return &slice{a.or(0, "", nil), a.or(1, "", nil), a.or(2, "", nil)}
}

func setDefaultType(in *interpreter, a arguments) value {
	if dt, ok := a.or(0, "d", nil).(dtypeValue); ok {
		in.dtype = shadow.DType(dt)
	}
	if in.dtype == shadow.Float32 {
		in.dtype = shadow.None
	}
	return nil
}

func setDefaultDevice(in *interpreter, a arguments) value {
	in.device = ""
	if d := a.or(0, "device", nil); d != nil {
		in.device = deviceOf(d)
	}
	return nil
}

func defaultType(in *interpreter, _ arguments) value {
	return dtypeValue(cmp.Or(in.dtype, shadow.Float32))
}

// bareNetwork returns the setup's model with a forward that returns only logits, like timm's and torchvision's
// models.
func bareNetwork(in *interpreter, a arguments) value {
	n := &network{dtype: in.dtype, here: in.device == "cuda"}
	n.loading.Classes, _ = a.or(len(a.pos), "num_classes", 0).(int)
	n.bare = true
	return n
}
