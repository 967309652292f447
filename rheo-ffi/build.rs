//! Gives the shared library its name in the dynamic linker's eyes; a plain cargo `cdylib` has none.

/// The version of the C ABI: the number after `librheo.so.`, and `RHEO_ABI_VERSION` in the header. It goes up when a
/// program that was compiled against an older header would break.
const ABI_VERSION: u32 = 0;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=RHEO_ABI_VERSION={ABI_VERSION}");
    let target_os = std::env::var("CARGO_CFG_TARGET_OS").expect("cargo sets it");
    match target_os.as_str() {
        "macos" => println!("cargo::rustc-cdylib-link-arg=-Wl,-install_name,@rpath/librheo.{ABI_VERSION}.dylib"),
        "windows" => {}
        _ => println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,librheo.so.{ABI_VERSION}"),
    }
}
