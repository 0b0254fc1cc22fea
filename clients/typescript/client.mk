# TypeScript: protoc-gen-es makes the stubs, in the version that clients/typescript/package-lock.json pins.
CLIENTS += typescript:npm
BUILT += clients/typescript/gen clients/typescript/dist clients/typescript/node_modules $(wildcard clients/typescript/*.tgz)
.PHONY: gen-typescript

clients/typescript/node_modules/.package-lock.json: clients/typescript/package-lock.json
	@cd clients/typescript && npm ci --silent --ignore-scripts
	@touch $@

gen-typescript: $(DEV_STAMP) clients/typescript/node_modules/.package-lock.json ## make the TypeScript stubs, in clients/typescript/gen
	@cd clients/typescript && ../../$(BIN)/buf generate
	@# What errors are made of; its protos come with googleapis-common-protos.
	@cd clients/typescript && site=$$(echo ../../$(VENV)/lib/python3*/site-packages) && ../../$(BIN)/buf generate --clean=false \
	  "$$site" --path "$$site/google/rpc/status.proto" --path "$$site/google/rpc/error_details.proto"
	@{ echo '/** The service config of all clients. */'; printf 'export const SERVICE_CONFIG = '; cat clients/service_config.json; } \
	  > clients/typescript/gen/service_config.ts
