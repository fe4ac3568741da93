//! Run-time compilation through NVRTC.
//!
//! Invariant: what is compiled depends on the text, the headers it includes, the target and the compiler's version alone.
#![allow(unsafe_code)]

use crate::{Error, Result};
use cudarc::nvrtc::{result, sys};
use std::ffi::CString;

/// What the machine code is for; the variant with everything that this very chip has.
pub fn architecture((major, minor): (u32, u32)) -> String {
    let special = if major == 9 || major >= 10 { "a" } else { "" };
    format!("sm_{major}{minor}{special}")
}

/// Whether the library is there.
pub fn is_present() -> bool {
    // SAFETY: loads the vendor's library.
    unsafe { sys::is_culib_present() }
}

/// The version of the library, if it is there.
pub fn version() -> Option<(i32, i32)> {
    if !is_present() {
        return None;
    }
    let (mut major, mut minor) = (0, 0);
    // SAFETY: the library is there; the call writes two numbers.
    let status = unsafe { sys::nvrtcVersion(&raw mut major, &raw mut minor) };
    status.result().is_ok().then_some((major, minor))
}

/// What a compiled text is filed under.
pub fn key(text: &str, target: &str, driver: i32) -> String {
    let (major, minor) = version().unwrap_or((0, 0));
    format!("{:016x}-{target}-{driver}-{major}.{minor}", bitgraph_kernels::text_hash(text))
}

struct Program(sys::nvrtcProgram);
impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: the program was made and is destroyed once.
        let _ = unsafe { result::destroy_program(self.0) };
    }
}

/// The machine code of a text.
pub fn compile(name: &str, text: &str, target: &str) -> Result<Vec<u8>> {
    if !is_present() {
        return Err(Error::NoCompiler { needed_for: name.to_string() });
    }
    let failed = |log: String| Error::Compile { what: name.to_string(), log };
    let string = |s: &str| CString::new(s).map_err(|_| failed("a zero byte in the source".into()));
    let headers = bitgraph_kernels::includes(text);
    let texts = headers.iter().map(|h| string(h.text)).collect::<Result<Vec<_>>>()?;
    let names = headers.iter().map(|h| string(h.path)).collect::<Result<Vec<_>>>()?;
    let text_pointers: Vec<_> = texts.iter().map(|t| t.as_ptr()).collect();
    let name_pointers: Vec<_> = names.iter().map(|t| t.as_ptr()).collect();
    let (source, file) = (string(text)?, string(&format!("{name}.cu"))?);
    let mut handle = std::ptr::null_mut();
    // SAFETY: all strings live until the program is destroyed at the end of this function.
    let program = unsafe {
        sys::nvrtcCreateProgram(
            &raw mut handle,
            source.as_ptr(),
            file.as_ptr(),
            headers.len() as i32,
            text_pointers.as_ptr(),
            name_pointers.as_ptr(),
        )
        .result()
        .map_err(|e| failed(format!("{e}")))?;
        Program(handle)
    };
    // Generic lambdas carry no execution space of their own; here everything is for the device.
    let options = [format!("--gpu-architecture={target}"), "--std=c++17".into(), "-default-device".into()];
    // SAFETY: the program is alive.
    let status = unsafe { result::compile_program(program.0, &options) };
    if let Err(error) = status {
        // SAFETY: as above.
        let log = unsafe { result::get_program_log(program.0) }.unwrap_or_default();
        let log: Vec<u8> = log.into_iter().map(|c| c as u8).take_while(|&c| c != 0).collect();
        return Err(failed(format!("{error}\n{}", String::from_utf8_lossy(&log))));
    }
    let mut size = 0usize;
    // SAFETY: the program is compiled; the buffer has the size that the library gives.
    unsafe {
        sys::nvrtcGetCUBINSize(program.0, &raw mut size).result().map_err(|e| failed(format!("{e}")))?;
        let mut code = vec![0u8; size];
        sys::nvrtcGetCUBIN(program.0, code.as_mut_ptr().cast()).result().map_err(|e| failed(format!("{e}")))?;
        Ok(code)
    }
}
