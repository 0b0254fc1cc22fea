/** Why a call failed, for programs. */

import type { Message } from "@bufbuild/protobuf";
import { fromBinary } from "@bufbuild/protobuf";
import type { GenMessage } from "@bufbuild/protobuf/codegenv2";
import { anyUnpack, durationMs } from "@bufbuild/protobuf/wkt";
import { type ServiceError, status } from "@grpc/grpc-js";

import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../gen/google/rpc/error_details_pb.js";
import { type Status, StatusSchema } from "../gen/google/rpc/status_pb.js";

const DOMAIN = "recallmesh";
const DETAILS = "grpc-status-details-bin";

/** A field that was refused. */
export interface Violation {
  readonly field: string;
  readonly description: string;
}

/** What a call ended with. Decide by the reason, or by the code where there is none. */
export class MeshError extends Error {
  override readonly name = "MeshError";
  /** The gRPC code, such as `status.NOT_FOUND`. */
  readonly code: status;
  /** Its name, such as `NOT_FOUND`. */
  readonly codeName: string;
  /**
   * The mesh's own reason, such as `BANK_NOT_FOUND`; a newer mesh may say one that is not in `ErrorReason`.
   * Absent when the mesh itself did not answer: nobody did, or a proxy.
   */
  readonly reason: string | undefined;
  /** What a program may need to know, such as the bank's id. */
  readonly metadata: Readonly<Record<string, string>>;
  /** The request's id, by which the logs of the mesh have it. Absent when the mesh itself did not answer. */
  readonly requestId: string | undefined;
  /** The fields that were refused. */
  readonly violations: readonly Violation[];
  /** How long to wait before the call is made again. Absent unless the mesh is overloaded. */
  readonly retryAfterMs: number | undefined;

  constructor(error: ServiceError) {
    super(error.details, { cause: error });
    this.code = error.code;
    this.codeName = status[error.code] ?? "UNKNOWN";
    const details = detailsOf(error);
    const info = find(details, ErrorInfoSchema);
    const ours = info?.domain === DOMAIN ? info : undefined;
    this.reason = ours?.reason;
    this.metadata = ours?.metadata ?? {};
    this.requestId = ours?.metadata["request_id"];
    this.violations = find(details, BadRequestSchema)?.fieldViolations ?? [];
    const delay = find(details, RetryInfoSchema)?.retryDelay;
    this.retryAfterMs = delay && durationMs(delay);
  }
}

/** What gRPC threw as an error of ours; anything else as it is. */
export function asMeshError(error: unknown): unknown {
  return error instanceof Error && "code" in error && "details" in error && "metadata" in error
    ? new MeshError(error as ServiceError)
    : error;
}

function detailsOf(error: ServiceError): Status | undefined {
  const [bytes] = error.metadata.get(DETAILS);
  if (!(bytes instanceof Uint8Array)) return undefined;
  try {
    return fromBinary(StatusSchema, bytes);
  } catch {
    return undefined; // Whoever answered, it was not the mesh.
  }
}

function find<T extends Message>(from: Status | undefined, schema: GenMessage<T>): T | undefined {
  for (const detail of from?.details ?? []) {
    const found = anyUnpack(detail, schema);
    if (found) return found as T;
  }
  return undefined;
}
