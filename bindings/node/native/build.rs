//! Says how to link what Node loads.

fn main() {
    napi_build::setup();
}
