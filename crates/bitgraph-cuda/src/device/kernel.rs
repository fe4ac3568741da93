//! Kernels by their names, typed by the struct that they take, and how they are launched.
//!
//! Invariant: a kernel is loaded once for a device; what may be checked without its caller's knowledge is checked then, not at a launch.
#![allow(unsafe_code)]

use super::driver::{Driver, FunctionHandle, ModuleHandle};
use super::recorder::Pass;
use super::{Device, Parameters, Shape, lock};
use crate::{Error, Result};
use bitgraph_kernels::Struct;
use std::marker::PhantomData;
use std::sync::Arc;

/// Loads the module of a kernel, once.
type Load<'a> = dyn FnMut(&dyn Driver) -> Result<ModuleHandle> + 'a;

/// A kernel that takes a `P`, ready to launch.
pub struct Kernel<P> {
    pub(super) loaded: Loaded,
    parameters: PhantomData<fn(P)>,
}

#[derive(Clone)]
pub(super) struct Loaded {
    pub name: Arc<str>,
    pub function: FunctionHandle,
    parameters: &'static Struct,
}

impl<P> Clone for Kernel<P> {
    fn clone(&self) -> Self {
        Self { loaded: self.loaded.clone(), parameters: PhantomData }
    }
}
impl<P> std::fmt::Debug for Kernel<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Kernel({}({}))", self.loaded.name, self.loaded.parameters.name)
    }
}

impl Device {
    /// A kernel of a listed module, loaded at first use.
    ///
    /// # Errors
    /// [`Error::NoKernel`], [`Error::NoCompiler`] where nothing was compiled ahead and nothing can be now; [`Error::OtherParameters`].
    pub fn kernel<P: Parameters>(&self, module: &str, kernel: &str) -> Result<Kernel<P>> {
        let loaded = self.loaded(module, kernel, P::STRUCT, &mut |driver| driver.module(module))?;
        Ok(Kernel { loaded, parameters: PhantomData })
    }
    /// A kernel of a text that is compiled at first use; `name` tells texts apart.
    ///
    /// # Errors
    /// [`Error::Compile`], [`Error::NoCompiler`], [`Error::NoKernel`], [`Error::OtherParameters`].
    pub fn compiled<P: Parameters>(&self, name: &str, kernel: &str, text: impl Fn() -> String) -> Result<Kernel<P>> {
        let loaded = self.loaded(name, kernel, P::STRUCT, &mut |driver| driver.compile(name, &text()))?;
        Ok(Kernel { loaded, parameters: PhantomData })
    }
    /// Not generic: compiled once, and not for every struct of parameters.
    fn loaded(&self, module: &str, kernel: &str, wanted: &'static Struct, load: &mut Load<'_>) -> Result<Loaded> {
        let known = lock(&self.shared().kernels).get(module).and_then(|kernels| kernels.get(kernel)).cloned();
        let loaded = match known {
            Some(loaded) => loaded,
            None => {
                let function = self.function(module, kernel, Some(wanted), load)?;
                let loaded = Loaded { name: kernel.into(), function, parameters: wanted };
                lock(&self.shared().kernels).entry(module.to_string()).or_default().insert(kernel.to_string(), loaded.clone());
                loaded
            }
        };
        let known = loaded.parameters;
        if !std::ptr::eq(known, wanted) && (known.file, known.name) != (wanted.file, wanted.name) {
            return Err(Error::OtherParameters { kernel: kernel.into(), expected: known.name.into(), found: wanted.name });
        }
        Ok(loaded)
    }
    /// The entry of a kernel. Where memory is short, that which is kept for later is given up first.
    fn function(&self, module: &str, kernel: &str, wanted: Option<&Struct>, load: &mut Load<'_>) -> Result<FunctionHandle> {
        // Code is loaded between recordings: what the driver does for it can make one void.
        let _pass = Pass::new();
        let mut find = || self.module(module, load).and_then(|handle| self.driver().function(handle, module, kernel, wanted));
        match find() {
            Err(Error::OutOfMemory { .. }) => {
                // A module of which a kernel could not be loaded is of no more use. What was loaded of it before stays.
                self.forget(module);
                self.give_up_recycled()?;
                self.driver().trim()?;
                find().inspect_err(|_| self.forget(module))
            }
            found => found,
        }
    }
    fn forget(&self, module: &str) {
        lock(&self.shared().modules).remove(module);
    }
    fn module(&self, module: &str, load: &mut Load<'_>) -> Result<ModuleHandle> {
        let mut modules = lock(&self.shared().modules);
        if let Some(&handle) = modules.get(module) {
            return Ok(handle);
        }
        let handle = load(self.driver())?;
        modules.insert(module.to_string(), handle);
        Ok(handle)
    }
    /// Loads the listed modules whose names start with one of `prefixes`, so that no later run waits for it.
    ///
    /// # Errors
    /// As [`Device::kernel`].
    pub fn preload(&self, prefixes: &[&str]) -> Result<()> {
        for module in bitgraph_kernels::listed_modules().filter(|m| prefixes.iter().any(|p| m.name.starts_with(p))) {
            for kernel in module.kernels {
                self.function(module.name, kernel, None, &mut |driver| driver.module(module.name))?;
            }
        }
        Ok(())
    }
    /// Blocks of a kernel that a multiprocessor holds at once; 0 if it does not fit at all.
    ///
    /// # Errors
    /// The driver's.
    pub fn resident<P>(&self, kernel: &Kernel<P>, block: u32, shared: u32) -> Result<u32> {
        if block > self.properties().max_threads_per_block || shared > self.properties().shared_per_block {
            return Ok(0);
        }
        self.driver().resident(kernel.loaded.function, block, shared)
    }
    /// Launches a kernel on the device's stream; returns before it is done. A grid of no blocks is no launch.
    ///
    /// # Safety
    /// The kernel takes a `P` (see [`Device::kernel`]). What `parameters` names is on this device, as long as the kernel goes through it
    /// with this shape and these numbers, ordered with this stream, and stays until the kernel is done. Nothing but the kernel writes what
    /// it reads meanwhile. If its blocks wait for each other, the shape's mode keeps all of them resident.
    ///
    /// # Errors
    /// [`Error::NotResident`] for a cooperative launch that does not fit, or the driver's.
    pub unsafe fn launch<P: Parameters>(&self, kernel: &Kernel<P>, shape: Shape, parameters: &P) -> Result<()> {
        if shape.grid == 0 {
            return Ok(());
        }
        let bytes = bytemuck::bytes_of(parameters);
        let _pass = Pass::new();
        // SAFETY: the caller's promises are the driver's.
        unsafe { self.driver().launch(self.stream().0.handle, kernel.loaded.function, &kernel.loaded.name, shape, bytes) }
    }
}
