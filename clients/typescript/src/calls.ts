/** Typed calls of a service: promises for single answers, async iterables for streams. */

import { randomUUID } from "node:crypto";
import { once } from "node:events";

import {
  create,
  type DescMessage,
  type DescMethod,
  type DescService,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import {
  type CallOptions as Limits,
  type Client,
  type ClientDuplexStream,
  type ClientReadableStream,
  type ClientWritableStream,
  Metadata,
} from "@grpc/grpc-js";

import { asMeshError } from "./error.js";

/** What one call may bring. */
export interface CallOptions {
  /** How long it may take, with its repeats, in ms. Absent: as long as the mesh was opened with. */
  timeoutMs?: number;
  /** Ends the call when it is aborted; it fails with CANCELLED. */
  signal?: AbortSignal;
  /** Metadata to send, such as an `x-request-id`. */
  metadata?: Readonly<Record<string, string>>;
}

type Sent<M extends DescMethod> = MessageInitShape<M["input"]>;
type Stream<T> = AsyncIterable<T> | Iterable<T>;
type Answer<M extends DescMethod> = MessageShape<M["output"]>;

interface Kinds<M extends DescMethod> {
  unary: (request: Sent<M>, options?: CallOptions) => Promise<Answer<M>>;
  server_streaming: (request: Sent<M>, options?: CallOptions) => AsyncIterable<Answer<M>>;
  client_streaming: (requests: Stream<Sent<M>>, options?: CallOptions) => Promise<Answer<M>>;
  bidi_streaming: (requests: Stream<Sent<M>>, options?: CallOptions) => AsyncIterable<Answer<M>>;
}

/** A method as a function. A call that answers with a stream begins when it is first read, and ends when its reader leaves. */
export type Call<M extends DescMethod> = Kinds<M>[M["methodKind"]];

/** The methods of a service as functions. */
export type Calls<S extends DescService> = { readonly [K in keyof S["method"]]: Call<S["method"][K]> };

/** Return the methods of a service as functions that call over a channel. */
export function callsOf<S extends DescService>(service: S, channel: Client): Calls<S> {
  const calls = service.methods.map((method) => [method.localName, KINDS[method.methodKind](new Method(method, channel))]);
  return Object.fromEntries(calls) as Calls<S>;
}

type Message = MessageShape<DescMessage>;
type Init = MessageInitShape<DescMessage>;
type Done = (error: unknown, answer?: Message) => void;
type Duplex = ClientDuplexStream<Buffer, Message>;
type Readable = ClientReadableStream<Message> | Duplex;
type Writable = ClientWritableStream<Buffer> | Duplex;

/** A method of a channel, with messages written and read. */
class Method {
  readonly path: string;

  constructor(
    private readonly method: DescMethod,
    readonly channel: Client,
  ) {
    this.path = `/${method.parent.typeName}/${method.name}`;
  }

  /** A message as bytes. Done before gRPC is called, so that what cannot be written is thrown as it is. */
  readonly write = (message: Init): Buffer => Buffer.from(toBinary(this.method.input, create(this.method.input, message)));

  /** A message as bytes; one that may have a request id has one, so that to repeat the call counts once. */
  readonly writeOnce = (init: Init): Buffer => {
    const message: Message & { requestId?: string } = create(this.method.input, init);
    // The caller's own message stays as it is: sent again it is another call.
    return this.write(message.requestId === "" ? { ...message, requestId: randomUUID() } : message);
  };

  readonly pass = (bytes: Buffer): Buffer => bytes;
  readonly read = (bytes: Buffer): Message => fromBinary(this.method.output, bytes);
}

const KINDS = {
  unary:
    ({ channel, path, writeOnce, pass, read }: Method) =>
    async (request: Init, options: CallOptions = {}) => {
      const bytes = writeOnce(request);
      return answer(options, (metadata, limits, done) =>
        channel.makeUnaryRequest(path, pass, read, bytes, metadata, limits, done),
      );
    },

  client_streaming:
    ({ channel, path, write, pass, read }: Method) =>
    async (requests: Stream<Init>, options: CallOptions = {}) => {
      let sending: Sending | undefined;
      try {
        return await answer(options, (metadata, limits, done) => {
          const call = channel.makeClientStreamRequest(path, pass, read, metadata, limits, done);
          sending = new Sending(call, requests, write);
          return call;
        });
      } catch (error) {
        throw sending?.failure ?? error;
      }
    },

  server_streaming: ({ channel, path, write, pass, read }: Method) =>
    async function* (request: Init, options: CallOptions = {}) {
      const { metadata, limits } = brought(options);
      yield* answers(channel.makeServerStreamRequest(path, pass, read, write(request), metadata, limits), options);
    },

  bidi_streaming: ({ channel, path, write, pass, read }: Method) =>
    async function* (requests: Stream<Init>, options: CallOptions = {}) {
      const { metadata, limits } = brought(options);
      const call = channel.makeBidiStreamRequest(path, pass, read, metadata, limits);
      const sending = new Sending(call, requests, write);
      try {
        yield* answers(call, options);
      } catch (error) {
        throw sending.failure ?? error;
      }
    },
};

/** The one answer of a call. */
function answer(
  options: CallOptions,
  begin: (metadata: Metadata, limits: Limits, done: Done) => { cancel(): void },
): Promise<Message> {
  const { metadata, limits } = brought(options);
  return new Promise((resolve, reject) => {
    const call = begin(metadata, limits, (error, message) => {
      options.signal?.removeEventListener("abort", cancel);
      if (message === undefined) reject(asMeshError(error));
      else resolve(message);
    });
    const cancel = () => call.cancel();
    cancelWith(options.signal, cancel);
  });
}

/** The answers of a call, which ends when its reader leaves. */
async function* answers(call: Readable, options: CallOptions): AsyncIterable<Message> {
  const cancel = () => call.cancel();
  cancelWith(options.signal, cancel);
  call.on("error", () => {}); // Whoever has left is told no more; without a listener Node would end the process.
  try {
    yield* call as AsyncIterable<Message>;
  } catch (error) {
    throw asMeshError(error);
  } finally {
    options.signal?.removeEventListener("abort", cancel);
    cancel();
  }
}

/** The sending of a stream, held back by flow control, until all is sent or the call has ended. */
class Sending {
  /** What the requests themselves failed with; it has cancelled the call. */
  failure: unknown;

  constructor(call: Writable, requests: Stream<Init>, write: (request: Init) => Buffer) {
    const ended = new AbortController();
    call.once("status", () => ended.abort());
    this.send(call, requests, write, ended.signal).catch((error: unknown) => {
      if (ended.signal.aborted) return; // What it ended with, the answers say.
      this.failure = error;
      call.cancel();
    });
  }

  private async send(
    call: Writable,
    requests: Stream<Init>,
    write: (request: Init) => Buffer,
    ended: AbortSignal,
  ): Promise<void> {
    for await (const request of requests) {
      // Nothing is written to a call that has ended, and what would wait for room is thrown out by the signal.
      if (!call.write(write(request))) await once(call, "drain", { signal: ended });
    }
    call.end();
  }
}

function brought(options: CallOptions): { metadata: Metadata; limits: Limits } {
  const metadata = new Metadata();
  for (const [key, value] of Object.entries(options.metadata ?? {})) metadata.set(key, value);
  return { metadata, limits: options.timeoutMs === undefined ? {} : { deadline: Date.now() + options.timeoutMs } };
}

function cancelWith(signal: AbortSignal | undefined, cancel: () => void): void {
  if (signal?.aborted) cancel();
  else signal?.addEventListener("abort", cancel, { once: true });
}
