# Python: the stubs are in git, in shared/recallmesh/v1; the package here is built of them and of what stands on them.
BUILT += clients/python/.venv clients/python/dist
.PHONY: gen-python

gen-python: $(DEV_STAMP) ## make the Python stubs, in shared/recallmesh/v1
	@$(BIN)/python protos/generate.py --check || $(BIN)/python protos/generate.py
