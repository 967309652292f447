//! Writes `include/rheo.h`: cbindgen's declarations, put into sections in the order in which the files say them, with
//! the version macros and the error numbers, which have their source elsewhere.
//!
//! ```sh
//! cargo run -p rheo-ffi --example header
//! ```

use cbindgen::{Builder, Config};
use rheo_core::{ErrorCode, Retriable};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The files of `src/c` that have something to say, in the order of the sections.
const SECTIONS: &[&str] = &[
    "values",
    "library",
    "error",
    "options",
    "telemetry",
    "instance",
    "settle",
    "results",
    "stream",
    "group",
    "group_settle",
    "producer",
    "work",
    "consumer",
    "stream_options",
    "group_options",
    "update_options",
    "append_options",
    "batch",
    "query",
    "trim_options",
    "fetch_options",
    "producer_options",
    "consumer_options",
    "interrupt",
    "dead_letter_options",
    "replay_options",
    "reset_options",
    "event",
    "lease",
    "name_list",
    "stream_info",
    "lag",
    "group_info",
    "dead_letter",
    "capabilities",
];

#[allow(dead_code, reason = "the test that checks the header takes this file as a module")]
fn main() -> io::Result<()> {
    fs::write(header_path(), header())
}

/// Where the header is kept.
pub fn header_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../include/rheo.h")
}

/// The header that the sources stand for.
pub fn header() -> String {
    let config = Config::from_file(manifest_dir().join("cbindgen.toml")).expect("cbindgen.toml is a configuration");
    let sections: Vec<Section> = SECTIONS.iter().map(|file| Section::read(file, &config)).collect();
    let mut header = config.header.as_deref().unwrap_or_default().trim().to_owned();
    header.push_str("\n\n#ifndef RHEO_H\n#define RHEO_H\n\n");
    header.push_str("#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n\n");
    header.push_str(&macros());
    header.push_str("#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    header.push_str("/* The handles, each documented in its section. */\n");
    for name in sections.iter().flat_map(|section| &section.handles) {
        writeln!(header, "typedef struct {name} {name};").expect("a string takes everything");
    }
    for section in &sections {
        header.push('\n');
        header.push_str(&section.text);
        if section.file == "values" {
            header.push_str(&errors());
        }
    }
    header.push_str("\n#ifdef __cplusplus\n}\n#endif\n\n#endif /* RHEO_H */\n");
    header
}

fn manifest_dir() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Version and convenience macros.
fn macros() -> String {
    let version = env!("CARGO_PKG_VERSION");
    let mut parts = version.split('.');
    let mut part = || parts.next().expect("a version has three parts");
    // `rheo_abi_version` is what build.rs says.
    let abi = rheo::c::library::rheo_abi_version();
    format!(
        r#"/** The version that a program is compiled against; `rheo_version` gives the one it runs with. */
#define RHEO_VERSION "{version}"
#define RHEO_VERSION_MAJOR {} /**< The first number of RHEO_VERSION. */
#define RHEO_VERSION_MINOR {} /**< The second. */
#define RHEO_VERSION_PATCH {} /**< The third. */

/** The version of the ABI, as in `librheo.so.{abi}`; `rheo_abi_version` gives the one of the library. */
#define RHEO_ABI_VERSION {abi}

/** Whether the library that is loaded fits this header. To be asked once, at the start; when it does not, stop. */
#define RHEO_ABI_MATCHES() (rheo_abi_version() == RHEO_ABI_VERSION)

/** The two arguments for a NUL-terminated string: pointer and length. Evaluates `text` twice. */
#define RHEO_TEXT(text) (text), strlen(text)

/** The two arguments for %.*s of printf, from a rheo_bytes. Evaluates `bytes` twice. */
#define RHEO_PRINT(bytes) (int)(bytes).len, (const char *)(bytes).data

"#,
        part(),
        part(),
        part()
    )
}

/// The numbers of the errors, from the core.
fn errors() -> String {
    let mut text = String::from(
        "
/*
 * The errors. After each number: what a holder of a lease may conclude from it (RHEO_SETTLE_...), and whether calling
 * again can help (RHEO_RETRIABLE_...). Numbers are never used for something else.
 */
",
    );
    for &code in ErrorCode::ALL {
        let retriable = match code.retriable() {
            Retriable::No => "not retriable",
            Retriable::Yes => "retriable",
            Retriable::WithSameId => "retriable with the same id",
            _ => panic!("say in examples/header.rs how {code} is retriable"),
        };
        let name = code.name().to_uppercase();
        let settle_class = code.settle_class().name();
        let number = code.number();
        writeln!(
            text,
            "\n/** {} */\n#define RHEO_ERROR_{name} {number} /* {settle_class}, {retriable} */",
            meaning(code)
        )
        .expect("a string takes everything");
    }
    text
}

/// What an error means, for the reader of the header.
fn meaning(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::StreamNotFound => "The stream does not exist.",
        ErrorCode::GroupNotFound => "The stream exists, the group does not.",
        ErrorCode::AlreadyExists => "A stream, a group or an instance of that name exists.",
        ErrorCode::CursorNotFound => "No dead letter has the id to go on after.",
        ErrorCode::StaleLease => "The delivery is not leased under this lease: it ended, or another holder has it.",
        ErrorCode::ReceiptMismatch => "The lease id fits, the store's own receipt does not.",
        ErrorCode::InvalidArgument => "The form or the value of an argument is not allowed.",
        ErrorCode::InvalidPartition => "The stream has no such partition.",
        ErrorCode::InvalidPartitionCount => "A stream has 1 to 65,536 partitions.",
        ErrorCode::InvalidReplayOpts => "A replay takes exactly one way of saying what to replay.",
        ErrorCode::ConfirmRequired => "The operation destroys something and wants to be confirmed.",
        ErrorCode::PayloadTooLarge => "The payload is larger than the instance's max_payload_bytes.",
        ErrorCode::Unsupported => "This build, or this backend, cannot do it.",
        ErrorCode::BackendUnavailable => "The store cannot be reached.",
        ErrorCode::Failed => "It was definitely not done; the cause says why.",
        ErrorCode::Ambiguous => "Whether it was done is not known; the cause says why.",
        ErrorCode::Timeout => "The store did not answer in time.",
        ErrorCode::AlreadyDraining => "A drain is pending already.",
        ErrorCode::Closed => "The instance was closed.",
        ErrorCode::Forked => "The instance was opened before this process was forked off.",
        ErrorCode::Poisoned => "An earlier sync failed; open the instance anew.",
        ErrorCode::Locked => "Another process holds the journal.",
        ErrorCode::Corrupt => "Stored data fails its check.",
        ErrorCode::VersionMismatch => "The data was stored by a newer format.",
        ErrorCode::Internal => "A bug of the library.",
        _ => panic!("say in examples/header.rs what {code} means"),
    }
}

/// What one file of `src/c` adds to the header.
struct Section {
    file: &'static str,
    /// Its opaque types.
    handles: Vec<String>,
    text: String,
}

impl Section {
    fn read(file: &'static str, config: &Config) -> Section {
        let path = manifest_dir().join("src/c").join(file).with_extension("rs");
        let source = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let names: Vec<&str> = source.lines().filter_map(declared_name).collect();

        let mut config = config.clone();
        config.header = None;
        // Also what only other files use.
        config.export.include = names.iter().map(|&name| name.to_owned()).collect();
        let mut declarations = Vec::new();
        Builder::new()
            .with_config(config)
            .with_src(&path)
            .generate()
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
            .write(&mut declarations);
        let declarations = String::from_utf8(declarations).expect("sources are UTF-8");

        // In the order of the source, not of their kinds.
        let mut blocks: Vec<(usize, &str)> = declarations
            .split("\n\n")
            .map(str::trim)
            .filter(|block| !block.is_empty())
            .map(|block| (place(block, &names), block))
            .collect();
        blocks.sort_unstable_by_key(|(place, _)| *place);
        assert_eq!(blocks.len(), names.len(), "{file}: cbindgen made of {names:?}:\n{declarations}");

        let opaque = blocks.iter().filter(|(_, block)| block.contains("typedef struct rheo_"));
        let handles = opaque.map(|(place, _)| names[*place].to_owned()).collect();
        let mut text = section_comment(&source);
        for (place, block) in &blocks {
            write!(text, "\n{}\n", laid_out(block, names[*place])).expect("a string takes everything");
        }
        Section { file, handles, text }
    }
}

/// The name that a line of a source declares for C.
fn declared_name(line: &str) -> Option<&str> {
    let rest = ["pub type ", "pub const ", "pub struct ", "pub unsafe extern \"C\" fn ", "pub extern \"C\" fn "]
        .iter()
        .find_map(|start| line.strip_prefix(start))?;
    rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

/// Which of the names a declaration declares.
fn place(block: &str, names: &[&str]) -> usize {
    let code = block.rsplit_once("*/").map_or(block, |(_, code)| code).trim();
    let last_word = |text: &str| {
        text.rsplit(|c: char| !c.is_alphanumeric() && c != '_').find(|word| !word.is_empty()).unwrap_or("").to_owned()
    };
    let name = if let Some(define) = code.strip_prefix("#define ") {
        define.split_whitespace().next().unwrap_or("").to_owned()
    } else if let Some((_, callback)) = code.split_once("(*") {
        callback.split(')').next().unwrap_or("").to_owned()
    } else if block.contains("typedef ") {
        last_word(code)
    } else {
        last_word(code.split('(').next().unwrap_or(""))
    };
    names.iter().position(|known| *known == name).unwrap_or_else(|| panic!("{name:?} is declared by no file: {block}"))
}

/// A declaration with its short comments on one line and its struct tagged.
fn laid_out(block: &str, name: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in block.lines() {
        match (line.trim(), lines.as_slice()) {
            ("*/", [.., open, text]) if open.trim() == "/**" => {
                let indent = " ".repeat(open.len() - open.trim_start().len());
                let text = text.trim().trim_start_matches("* ");
                let short = format!("{indent}/** {text} */");
                if short.len() <= 120 {
                    lines.truncate(lines.len() - 2);
                    lines.push(short);
                } else {
                    lines.push(line.to_owned());
                }
            }
            ("typedef struct {", _) => lines.push(format!("typedef struct {name} {{")),
            _ => lines.push(line.to_owned()),
        }
    }
    lines.join("\n")
}

/// The head comment of a file, as C.
fn section_comment(source: &str) -> String {
    let rule = "=".repeat(100);
    let mut comment = format!("/* {rule}\n");
    for line in source.lines().map_while(|line| line.strip_prefix("//!")) {
        writeln!(comment, " *{line}").expect("a string takes everything");
    }
    writeln!(comment, " * {rule} */").expect("a string takes everything");
    comment
}
