# Go: the plugins are tools of clients/go/go.mod, so that go.sum pins them.
CLIENTS += go:go
BUILT += clients/go/gen clients/go/bin
.PHONY: gen-go

gen-go: $(DEV_STAMP) ## make the Go stubs, in clients/go/gen
	@cd clients/go && ../../$(BIN)/buf generate
	@cp clients/service_config.json clients/go/gen/
