//! Writes `gen` of the client: messages and stubs of a descriptor set, read from stdin, and what goes with them.

use std::collections::{BTreeSet, HashMap};
use std::error::Error;
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use prost::Message as _;
use prost_types::{FileDescriptorSet, MethodDescriptorProto};

/// The one service config of all clients, which `make gen` writes.
const CONFIG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../service_config.json");
const OUT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../gen");

fn main() -> Result<(), Box<dyn Error>> {
    let mut bytes = Vec::new();
    io::stdin().read_to_end(&mut bytes)?;
    let protos = FileDescriptorSet::decode(bytes.as_slice())?;
    let out = Path::new(OUT);
    fs::create_dir_all(out)?;
    // Beside the stubs, so that the package holds all that it needs.
    fs::copy(CONFIG, out.join("service_config.json")).map_err(|error| format!("{CONFIG}: {error}"))?;
    fs::write(out.join("streaming.rs"), streaming(&protos))?;
    fs::write(out.join("request_ids.rs"), request_ids(&protos))?;
    tonic_prost_build::configure()
        .build_server(false)
        .build_transport(false)
        .emit_rerun_if_changed(false)
        .out_dir(out)
        .compile_fds(protos)?;
    Ok(())
}

/// The methods that take or answer with a stream, as a sorted Rust slice of their paths.
fn streaming(protos: &FileDescriptorSet) -> String {
    let streaming = methods(protos).filter(|(_, method)| method.client_streaming() || method.server_streaming());
    slice(streaming.map(|(path, _)| format!("{path:?}")))
}

/// The methods whose requests may have a request id, each with the number of that field, as a sorted Rust slice.
fn request_ids(protos: &FileDescriptorSet) -> String {
    let messages: HashMap<_, _> = protos
        .file
        .iter()
        .flat_map(|file| file.message_type.iter().map(|one| (format!(".{}.{}", file.package(), one.name()), one)))
        .collect();
    slice(methods(protos).filter_map(|(path, method)| {
        let field = messages.get(method.input_type())?.field.iter().find(|field| field.name() == "request_id")?;
        Some(format!("({path:?}, {})", field.number()))
    }))
}

/// All methods, by their paths (`/recallmesh.v1.RecallService/Recall`).
fn methods(protos: &FileDescriptorSet) -> impl Iterator<Item = (String, &MethodDescriptorProto)> {
    protos.file.iter().flat_map(|file| {
        file.service.iter().flat_map(|service| {
            let path =
                |method: &MethodDescriptorProto| format!("/{}.{}/{}", file.package(), service.name(), method.name());
            service.method.iter().map(move |method| (path(method), method))
        })
    })
}

fn slice(items: impl Iterator<Item = String>) -> String {
    let sorted: BTreeSet<_> = items.collect();
    format!("&[\n    {},\n]\n", sorted.into_iter().collect::<Vec<_>>().join(",\n    "))
}
