# Rust: a programme of clients/rust makes the stubs with prost and tonic, in the versions that its Cargo.lock pins.
CLIENTS += rust:cargo
BUILT += clients/rust/gen clients/rust/target
.PHONY: gen-rust

# Where rustup puts it, for shells that do not know.
export PATH := $(PATH):$(HOME)/.cargo/bin
MESH_OWN := arm vector embedder reranker

gen-rust: $(DEV_STAMP) ## make the Rust stubs, in clients/rust/gen
	@$(BIN)/buf build $(MESH_OWN:%=--exclude-path protos/recallmesh/v1/%_service.proto) --output - | \
	  cargo run --locked --quiet --manifest-path clients/rust/Cargo.toml --package generate
