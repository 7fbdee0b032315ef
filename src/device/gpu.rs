//! Which NVIDIA GPUs and driver parts are here. Looks before it touches: a machine without a driver is a plain answer.

use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;
use serde::Serialize;

/// Everything that decides whether CUDA can be used.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Gpus {
    pub driver: Driver,
    pub devices: Vec<Gpu>,
    /// `libcuda`, which comes with the driver.
    pub libcuda: bool,
    /// `libnvrtc`, which comes with the CUDA toolkit and compiles kernels.
    pub nvrtc: bool,
}

/// What NVML says about the driver.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Driver {
    /// `cuda` is the newest CUDA version the driver supports: (major, minor).
    Present { version: String, cuda: (i32, i32) },
    /// No NVML library, so no NVIDIA driver on this machine or in this container.
    #[default]
    Absent,
    /// There is a library, and it cannot be used; why, in words.
    Unusable { reason: String },
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Gpu {
    pub index: u32,
    pub name: String,
    /// Bytes of device memory; 0 when the driver does not say (a MIG parent, memory shared with the host).
    pub memory_total: u64,
    pub memory_free: u64,
    /// (major, minor), for example (9, 0).
    pub compute: Option<(i32, i32)>,
}

/// Looks for drivers and GPUs. Takes no device memory and starts no CUDA context.
pub fn probe() -> Gpus {
    let (driver, devices) = match Nvml::init().and_then(|nvml| read(&nvml)) {
        Ok(found) => found,
        Err(NvmlError::LibloadingError(_) | NvmlError::LibraryNotFound) => (Driver::Absent, Vec::new()),
        Err(e) => (Driver::Unusable { reason: reason(&e) }, Vec::new()),
    };
    Gpus { driver, devices, libcuda: libcuda_present(), nvrtc: nvrtc_present() }
}

/// Whether the CUDA driver library can be opened. cudarc panics at its first call without it, so ask here before.
pub fn libcuda_present() -> bool {
    // SAFETY: opens and closes the system's own driver library by its standard names; its initialisers are trusted as
    // those of any library the program links to.
    unsafe { cudarc::driver::sys::is_culib_present() }
}

/// Whether the run-time compiler can be opened; as [`libcuda_present`].
pub fn nvrtc_present() -> bool {
    // SAFETY: as in `libcuda_present`.
    unsafe { cudarc::nvrtc::sys::is_culib_present() }
}

fn read(nvml: &Nvml) -> Result<(Driver, Vec<Gpu>), NvmlError> {
    let version = nvml.sys_driver_version()?;
    let cuda = nvml.sys_cuda_driver_version()?;
    let cuda = (nvml_wrapper::cuda_driver_version_major(cuda), nvml_wrapper::cuda_driver_version_minor(cuda));
    // A GPU that has fallen off the bus is left out rather than hiding the others.
    let devices = (0..nvml.device_count()?).filter_map(|i| device(nvml, i).ok()).collect();
    Ok((Driver::Present { version, cuda }, devices))
}

fn device(nvml: &Nvml, index: u32) -> Result<Gpu, NvmlError> {
    let device = nvml.device_by_index(index)?;
    let (memory_total, memory_free) = device.memory_info().map_or((0, 0), |m| (m.total, m.free));
    let compute = device.cuda_compute_capability().ok().map(|c| (c.major, c.minor));
    Ok(Gpu { index, name: device.name()?, memory_total, memory_free, compute })
}

fn reason(error: &NvmlError) -> String {
    match error {
        NvmlError::DriverNotLoaded => "the NVIDIA driver is installed but its kernel module is not loaded".into(),
        NvmlError::LibRmVersionMismatch => {
            "the NVIDIA driver was updated and the old kernel module is still loaded (a restart mends it)".into()
        }
        NvmlError::NoPermission => "this user may not open the NVIDIA devices".into(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probing_never_panics_and_devices_need_a_driver() {
        let gpus = probe();
        let present = matches!(gpus.driver, Driver::Present { .. });
        assert!(present || gpus.devices.is_empty(), "{gpus:?}");
    }

    #[test]
    fn the_two_faults_with_a_remedy_are_told_in_words() {
        assert!(reason(&NvmlError::DriverNotLoaded).contains("not loaded"));
        assert!(reason(&NvmlError::LibRmVersionMismatch).contains("restart"));
    }
}
