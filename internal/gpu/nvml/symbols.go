// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64) && !static

package nvml

import "unsafe"

// functions are NVML's functions, with C's types in order (nvml.h of CUDA 12 and 13; the layouts have not changed
// since driver 470).
type functions struct {
	init            func() code
	shutdown        func() code
	errorString     func(code) string
	driverVersion   func(*byte, uint32) code
	cudaVersion     func(*int32) code
	count           func(*uint32) code
	handleByIndex   func(uint32, *handle) code
	name            func(handle, *byte, uint32) code
	uuid            func(handle, *byte, uint32) code
	pci             func(handle, *pciInfo) code
	memory1         func(handle, *memoryInfo) code
	memory2         func(handle, *memoryInfo2) code
	capability      func(handle, *int32, *int32) code
	ecc             func(handle, *int32, *int32) code
	mig             func(handle, *uint32, *uint32) code
	maxSlices       func(handle, *uint32) code
	sliceByIndex    func(handle, uint32, *handle) code
	gpuInstance     func(handle, *uint32) code
	computeInstance func(handle, *uint32) code
	attributes      func(handle, *attributesInfo) code
	compute         func(handle, *uint32, *processInfo) code
	graphics        func(handle, *uint32, *processInfo) code
	processName     func(uint32, *byte, uint32) code
	utilization     func(handle, *utilizationInfo) code
	processUse      func(handle, *processUseInfo, *uint32, uint64) code
	power           func(handle, *uint32) code
	powerLimit      func(handle, *uint32) code
	temperature     func(handle, uint32, *uint32) code
	slowdown        func(handle, *uint64) code
	slowdownOld     func(handle, *uint64) code
}

// table returns the symbol of each function.
func (f *functions) table() map[string]any {
	return map[string]any{
		"nvmlInit_v2":                               &f.init,
		"nvmlShutdown":                              &f.shutdown,
		"nvmlErrorString":                           &f.errorString,
		"nvmlSystemGetDriverVersion":                &f.driverVersion,
		"nvmlSystemGetCudaDriverVersion_v2":         &f.cudaVersion,
		"nvmlDeviceGetCount_v2":                     &f.count,
		"nvmlDeviceGetHandleByIndex_v2":             &f.handleByIndex,
		"nvmlDeviceGetName":                         &f.name,
		"nvmlDeviceGetUUID":                         &f.uuid,
		"nvmlDeviceGetPciInfo_v3":                   &f.pci,
		"nvmlDeviceGetMemoryInfo":                   &f.memory1,
		"nvmlDeviceGetMemoryInfo_v2":                &f.memory2,
		"nvmlDeviceGetCudaComputeCapability":        &f.capability,
		"nvmlDeviceGetEccMode":                      &f.ecc,
		"nvmlDeviceGetMigMode":                      &f.mig,
		"nvmlDeviceGetMaxMigDeviceCount":            &f.maxSlices,
		"nvmlDeviceGetMigDeviceHandleByIndex":       &f.sliceByIndex,
		"nvmlDeviceGetGpuInstanceId":                &f.gpuInstance,
		"nvmlDeviceGetComputeInstanceId":            &f.computeInstance,
		"nvmlDeviceGetAttributes_v2":                &f.attributes,
		"nvmlDeviceGetComputeRunningProcesses_v3":   &f.compute,
		"nvmlDeviceGetGraphicsRunningProcesses_v3":  &f.graphics,
		"nvmlSystemGetProcessName":                  &f.processName,
		"nvmlDeviceGetUtilizationRates":             &f.utilization,
		"nvmlDeviceGetProcessUtilization":           &f.processUse,
		"nvmlDeviceGetPowerUsage":                   &f.power,
		"nvmlDeviceGetEnforcedPowerLimit":           &f.powerLimit,
		"nvmlDeviceGetTemperature":                  &f.temperature,
		"nvmlDeviceGetCurrentClocksEventReasons":    &f.slowdown,
		"nvmlDeviceGetCurrentClocksThrottleReasons": &f.slowdownOld,
	}
}

// The library's structures; fields that are not read here have no name.
type (
	pciInfo struct {
		_     [16]byte  // bus ID in the older form
		_     [5]uint32 // domain, bus, device, PCI device and subsystem
		busID [32]byte
	}
	memoryInfo      struct{ total, free, used uint64 }
	utilizationInfo struct {
		gpu uint32
		_   uint32 // memory
	}
	memoryInfo2 struct {
		version                     uint32
		total, reserved, free, used uint64
	}
	attributesInfo struct {
		multiprocessors          uint32
		_                        [5]uint32 // copy, decode, encode, JPEG and optical flow engines
		gpuSlices, computeSlices uint32
		memoryMB                 uint64
	}
	processUseInfo struct {
		pid             uint32
		stamp           uint64    // microseconds
		multiprocessors uint32    // percent
		_               [3]uint32 // memory, encoder, decoder
	}
	processInfo struct {
		pid         uint32
		used        uint64
		gpuInstance uint32
		_           uint32 // compute instance
	}
)

// version2 tells the library which version of the structure is passed.
const version2 = uint32(unsafe.Sizeof(memoryInfo2{})) | 2<<24

// notReported is the memory figure of a process if the driver does not report it.
const notReported = ^uint64(0)
