//! Prints `docs/conformance.md`: which scenarios check which rule.

fn main() {
    print!("{}", rheo_conformance::coverage::document(&rheo_conformance::themes()));
}
