/** What every call goes through, on a server of grpc-js in this process that answers what a test tells it to. */

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { setImmediate } from "node:timers/promises";

import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import * as grpc from "@grpc/grpc-js";
import { type Mesh, MeshError, openMesh, type Options } from "@recallmesh/client";
import { RecallResponseSchema, RecallService, RecallStage } from "@recallmesh/client/v1/recall_service";
import { RetainBulkRequestSchema, RetainRequestSchema, RetainResponseSchema, RetainService } from "@recallmesh/client/v1/retain_service";

import { BadRequestSchema, ErrorInfoSchema } from "../gen/google/rpc/error_details_pb.js";
import { StatusSchema } from "../gen/google/rpc/status_pb.js";

const question = { bankId: "diary", query: "Who is Pixel?" };
const left: (() => void)[] = [];

afterEach(() => {
  for (const leave of left.splice(0)) leave();
});

type Handlers = Record<string, grpc.UntypedHandleCall>;

/** A mesh that is served by these handlers, which see and give bytes. */
async function serve(handlers: Handlers, options: Options = {}): Promise<Mesh> {
  const server = new grpc.Server();
  for (const service of [RecallService, RetainService]) {
    const methods = service.methods.filter((method) => method.localName in handlers);
    const pass = (bytes: Buffer) => bytes;
    const definition = methods.map((method): [string, grpc.MethodDefinition<Buffer, Buffer>] => [
      method.localName,
      {
        path: `/${service.typeName}/${method.name}`,
        requestStream: method.methodKind.startsWith("bidi") || method.methodKind.startsWith("client"),
        responseStream: method.methodKind.startsWith("bidi") || method.methodKind.startsWith("server"),
        requestSerialize: pass,
        requestDeserialize: pass,
        responseSerialize: pass,
        responseDeserialize: pass,
      },
    ]);
    if (definition.length > 0) server.addService(Object.fromEntries(definition), handlers);
  }
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  const mesh = openMesh(`127.0.0.1:${port}`, options);
  left.push(() => {
    mesh.close();
    server.forceShutdown();
  });
  return mesh;
}

const answer = toBinary(RecallResponseSchema, create(RecallResponseSchema, { tokenCount: 7 }));

async function failure(call: Promise<unknown>): Promise<MeshError> {
  return call.then(
    () => assert.fail("it succeeded"),
    (error: unknown) => {
      assert.ok(error instanceof MeshError, String(error));
      return error;
    },
  );
}

test("what may be repeated is repeated, with the key and one request id each time", async () => {
  const sent: Buffer[] = [];
  const keys: unknown[] = [];
  const mesh = await serve(
    {
      retain: (call: grpc.ServerUnaryCall<Buffer, Buffer>, done: grpc.sendUnaryData<Buffer>) => {
        sent.push(call.request);
        keys.push(...call.metadata.get("authorization"));
        if (sent.length < 3) done({ code: grpc.status.UNAVAILABLE });
        else done(null, Buffer.from(toBinary(RetainResponseSchema, create(RetainResponseSchema, { replayed: true }))));
      },
    },
    { key: "secret" },
  );
  const request = create(RetainRequestSchema, { bankId: "diary" });
  assert.equal((await mesh.retain.retain(request)).replayed, true);
  assert.equal(sent.length, 3);
  assert.ok(sent.every((bytes) => bytes.equals(sent[0]!)));
  assert.match(fromBinary(RetainRequestSchema, sent[0]!).requestId, /^[0-9a-f-]{36}$/);
  assert.equal(request.requestId, "", "the caller's message is as it was");
  assert.deepEqual(keys, ["Bearer secret", "Bearer secret", "Bearer secret"]);
  await mesh.retain.retain({ ...request, requestId: "mine" });
  assert.equal(fromBinary(RetainRequestSchema, sent[3]!).requestId, "mine");
});

test("a key that is none is refused, and not told", () => {
  for (const key of ["", "=", "two\nlines", "lines\n", "with space", "sécret", "a=b"]) {
    assert.throws(
      () => openMesh("127.0.0.1:1", { key }),
      (error: unknown) => error instanceof RangeError && error.message.startsWith("key: ") && !/cret|lines/.test(error.message),
    );
  }
  openMesh("127.0.0.1:1", { key: "abc-._~+/9==" }).close();
});

test("a call that is under way outlives the closing of the mesh", async () => {
  let called: () => void = () => {};
  const underWay = new Promise<void>((resolve) => (called = resolve));
  let finish: () => void = () => {};
  const mesh = await serve({
    recall: (_: unknown, done: grpc.sendUnaryData<Buffer>) => {
      finish = () => done(null, Buffer.from(answer));
      called();
    },
  });
  const call = mesh.recall.recall(question);
  await underWay;
  mesh.close();
  finish();
  assert.equal((await call).tokenCount, 7);
  await assert.rejects(mesh.recall.recall(question));
});

test("what may not be repeated is called once", async () => {
  let calls = 0;
  const mesh = await serve({
    recallStream: (call: grpc.ServerWritableStream<Buffer, Buffer>) => {
      calls += 1;
      call.emit("error", { code: grpc.status.UNAVAILABLE });
    },
  });
  const read = async () => {
    for await (const _ of mesh.recall.recallStream({ recall: question })) assert.fail("there is no answer");
  };
  assert.equal((await failure(read())).codeName, "UNAVAILABLE");
  assert.equal(calls, 1);
});

test("a call without a timeout gets a deadline, and its own goes before", async () => {
  const deadlines: number[] = [];
  const mesh = await serve({
    recall: (call: grpc.ServerUnaryCall<Buffer, Buffer>, done: grpc.sendUnaryData<Buffer>) => {
      deadlines.push(Number(call.getDeadline()) - Date.now());
      done(null, Buffer.from(answer));
    },
    recallStream: (call: grpc.ServerWritableStream<Buffer, Buffer>) => {
      deadlines.push(Number(call.getDeadline()) - Date.now());
      call.end();
    },
  });
  await mesh.recall.recall(question);
  for await (const _ of mesh.recall.recallStream({ recall: question })) assert.fail("there is no answer");
  await mesh.recall.recall(question, { timeoutMs: 300_000 });
  const wanted = [30_000, 3_600_000, 300_000];
  // What lies between is the call's way, on a machine however busy.
  for (const [at, most] of wanted.entries()) assert.ok(deadlines[at]! <= most && deadlines[at]! > most - 25_000);
});

test("the reason and the fields are read out of the details", async () => {
  const details = create(StatusSchema, {
    code: grpc.status.INVALID_ARGUMENT,
    details: [
      anyPack(ErrorInfoSchema, create(ErrorInfoSchema, { reason: "NEWER", domain: "recallmesh", metadata: { request_id: "r-1" } })),
      anyPack(BadRequestSchema, create(BadRequestSchema, { fieldViolations: [{ field: "query", description: "is blank" }] })),
    ],
  });
  const metadata = new grpc.Metadata();
  metadata.set("grpc-status-details-bin", Buffer.from(toBinary(StatusSchema, details)));
  const mesh = await serve({
    recall: (_: unknown, done: grpc.sendUnaryData<Buffer>) =>
      done({ code: grpc.status.INVALID_ARGUMENT, details: "query: is blank", metadata }),
  });
  const error = await failure(mesh.recall.recall(question));
  assert.equal(error.codeName, "INVALID_ARGUMENT");
  assert.equal(error.reason, "NEWER", "a reason that only a newer mesh knows keeps its name");
  assert.equal(error.requestId, "r-1");
  assert.equal(error.message, "query: is blank");
  assert.deepEqual(error.violations.map(({ field, description }) => [field, description]), [["query", "is blank"]]);
});

test("an error that is not the mesh's has no reason", async () => {
  const metadata = new grpc.Metadata();
  metadata.set("grpc-status-details-bin", Buffer.from([0xff, 0xff]));
  const mesh = await serve({
    recall: (_: unknown, done: grpc.sendUnaryData<Buffer>) => done({ code: grpc.status.NOT_FOUND, details: "a proxy", metadata }),
  });
  const error = await failure(mesh.recall.recall(question));
  assert.deepEqual([error.codeName, error.reason, error.requestId], ["NOT_FOUND", undefined, undefined]);
});

test("an enum value of a newer mesh is kept, and no error", async () => {
  const mesh = await serve({
    recallStream: (call: grpc.ServerWritableStream<Buffer, Buffer>) => {
      call.write(Buffer.from([0x08, 99])); // stage = 99
      call.end();
    },
  });
  const stages: number[] = [];
  for await (const { stage } of mesh.recall.recallStream({ recall: question })) stages.push(stage);
  assert.deepEqual(stages, [99]);
  assert.equal(RecallStage[99], undefined);
});

test("a reader that leaves ends the call", async () => {
  let cancelled: () => void = () => {};
  const ended = new Promise<void>((resolve) => (cancelled = resolve));
  const mesh = await serve({
    recallStream: (call: grpc.ServerWritableStream<Buffer, Buffer>) => {
      call.on("cancelled", cancelled);
      call.write(Buffer.from([0x08, 1]));
    },
  });
  for await (const { stage } of mesh.recall.recallStream({ recall: question })) {
    assert.equal(stage, RecallStage.FUSED);
    break;
  }
  await ended;
});

test("an aborted signal ends the call", async () => {
  const mesh = await serve({ recall: () => {} });
  const controller = new AbortController();
  const call = mesh.recall.recall(question, { signal: controller.signal });
  controller.abort();
  assert.equal((await failure(call)).codeName, "CANCELLED");
  assert.equal((await failure(mesh.recall.recall(question, { signal: controller.signal }))).codeName, "CANCELLED");
});

test("answers are read while requests are sent", async () => {
  const mesh = await serve({
    retainBulk: (call: grpc.ServerDuplexStream<Buffer, Buffer>) => {
      call.on("data", (bytes: Buffer) => {
        const { retain } = fromBinary(RetainBulkRequestSchema, bytes);
        const id = Buffer.from(retain!.requestId);
        call.write(Buffer.concat([Buffer.from([0x0a, id.length]), id])); // request_id = id
      });
      call.on("end", () => call.end());
    },
  });
  const heard: string[] = [];
  let next: () => void = () => {};
  async function* batches() {
    for (const requestId of ["a", "b", "c"]) {
      const answered = new Promise<void>((resolve) => (next = resolve));
      yield { retain: { bankId: "diary", requestId } };
      await answered;
    }
  }
  for await (const { requestId } of mesh.retain.retainBulk(batches())) {
    heard.push(requestId);
    next();
  }
  assert.deepEqual(heard, ["a", "b", "c"]);
});

test("requests that fail end the call, and theirs is the error", async () => {
  const mesh = await serve({
    retainBulk: (call: grpc.ServerDuplexStream<Buffer, Buffer>) => void call.resume(),
    retainStream: (call: grpc.ServerReadableStream<Buffer, Buffer>) => void call.resume(),
  });
  async function* unreadable(): AsyncGenerator<{ retain: { bankId: string } }> {
    yield { retain: { bankId: "diary" } };
    throw new RangeError("the file ends in the midst of a line");
  }
  await assert.rejects(async () => {
    for await (const _ of mesh.retain.retainBulk(unreadable())) assert.fail("there is no answer");
  }, RangeError);
  await assert.rejects(mesh.retain.retainStream(unreadable()), RangeError);
});

for (const [kind, size] of [["that waits for room", 1_000_000], ["that waits for its source", 1]] as const) {
  test(`a server that ends the call ends a sending ${kind}`, { timeout: 20_000 }, async () => {
    const mesh = await serve({
      retainBulk: (call: grpc.ServerDuplexStream<Buffer, Buffer>) => call.emit("error", { code: grpc.status.UNAVAILABLE }),
    });
    let stopped: () => void = () => {};
    const sentNoMore = new Promise<void>((resolve) => (stopped = resolve));
    let taken = 0;
    async function* endless() {
      try {
        for (;;) {
          taken += 1;
          yield { retain: { bankId: "x".repeat(size) } };
          await setImmediate();
        }
      } finally {
        stopped();
      }
    }
    const read = async () => {
      for await (const _ of mesh.retain.retainBulk(endless())) assert.fail("there is no answer");
    };
    assert.equal((await failure(read())).codeName, "UNAVAILABLE");
    const before = taken;
    await sentNoMore;
    assert.ok(taken <= before + 1, `${taken - before} were taken for nobody`);
  });
}
