/** A mesh to call: where it is, and what goes with every call. */

import { type ChannelCredentials, Client, credentials } from "@grpc/grpc-js";

import { BankService } from "../gen/recallmesh/v1/bank_service_pb.js";
import { DocumentService } from "../gen/recallmesh/v1/document_service_pb.js";
import { EntityService } from "../gen/recallmesh/v1/entity_service_pb.js";
import { MemoryService } from "../gen/recallmesh/v1/memory_service_pb.js";
import { OperationService } from "../gen/recallmesh/v1/operation_service_pb.js";
import { RecallService } from "../gen/recallmesh/v1/recall_service_pb.js";
import { RetainService } from "../gen/recallmesh/v1/retain_service_pb.js";
import { SERVICE_CONFIG } from "../gen/service_config.js";
import { type Calls, callsOf } from "./calls.js";
import { sendKey, setDeadline } from "./interceptors.js";

/** RFC 6750, section 2.1. */
const KEY = /^[A-Za-z0-9._~+/-]+=*$/;

/** What goes with every call. */
export interface Options {
  /** The key, sent as `authorization: Bearer KEY`. Absent: none is sent. */
  key?: string | undefined;
  /** How long a call may take that brings no timeout of its own, with its repeats, in ms. As the server's: 30,000. */
  timeoutMs?: number;
  /** The same for a call that takes or answers with a stream. As the server's: 3,600,000. */
  streamTimeoutMs?: number;
  /** How to encrypt. Absent: not at all. */
  credentials?: ChannelCredentials;
}

/** A mesh to call. */
export interface Mesh {
  /** Asking. */
  readonly recall: Calls<typeof RecallService>;
  /** Telling. */
  readonly retain: Calls<typeof RetainService>;
  /** Banks, their set-up, events and webhooks. */
  readonly banks: Calls<typeof BankService>;
  /** What a bank was told. */
  readonly documents: Calls<typeof DocumentService>;
  /** What became of it. */
  readonly memories: Calls<typeof MemoryService>;
  /** Who is who. */
  readonly entities: Calls<typeof EntityService>;
  /** Work that goes on after a call. */
  readonly operations: Calls<typeof OperationService>;
  /** Let go of the connections. Calls that are under way go on to their end; what is called after it is refused. */
  close(): void;
}

/**
 * Open a mesh.
 *
 * Connecting happens with the first call, and again when a connection is lost.
 *
 * @param address a gRPC target: `host:port`, `dns:///name:port` (calls go round all its addresses) or `unix:path`
 * @throws RangeError the key cannot be one
 */
export function openMesh(address: string, options: Options = {}): Mesh {
  if (options.key !== undefined && !KEY.test(options.key)) {
    // Without the key: it may be one that was mistyped.
    throw new RangeError("key: is no bearer key: letters, digits and -._~+/, with = at its end alone");
  }
  const channel = new Client(address, options.credentials ?? credentials.createInsecure(), {
    "grpc.service_config": JSON.stringify(SERVICE_CONFIG),
    "grpc.service_config_disable_resolution": 1,
    "grpc.keepalive_time_ms": 30_000,
    "grpc.keepalive_timeout_ms": 10_000,
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": 2_000,
    interceptors: [
      setDeadline(options.timeoutMs ?? 30_000, options.streamTimeoutMs ?? 3_600_000),
      ...(options.key === undefined ? [] : [sendKey(options.key)]),
    ],
  });
  return {
    recall: callsOf(RecallService, channel),
    retain: callsOf(RetainService, channel),
    banks: callsOf(BankService, channel),
    documents: callsOf(DocumentService, channel),
    memories: callsOf(MemoryService, channel),
    entities: callsOf(EntityService, channel),
    operations: callsOf(OperationService, channel),
    close: () => channel.close(),
  };
}
