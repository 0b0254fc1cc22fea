# Java: what makes the stubs comes from Maven Central, in the versions that clients/java/pom.xml pins.
CLIENTS += java:mvn
BUILT += clients/java/gen clients/java/bin clients/java/target
.PHONY: gen-java

clients/java/bin/protoc-gen-grpc-java: clients/java/pom.xml
	@cd clients/java && mvn -B -q -ntp dependency:copy@generators && chmod +x bin/*
	@touch $@

gen-java: $(DEV_STAMP) clients/java/bin/protoc-gen-grpc-java ## make the Java stubs, in clients/java/gen
	@cd clients/java && ../../$(BIN)/buf generate
