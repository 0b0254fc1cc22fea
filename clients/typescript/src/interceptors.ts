/** What every call goes through before gRPC repeats it. */

import { InterceptingCall, type Interceptor } from "@grpc/grpc-js";

/** Send a key with every call. */
export function sendKey(key: string): Interceptor {
  return (options, nextCall) =>
    new InterceptingCall(nextCall(options), {
      start(metadata, listener, next) {
        metadata.set("authorization", `Bearer ${key}`);
        next(metadata, listener);
      },
    });
}

/** Give a deadline to every call that brings none. */
export function setDeadline(timeoutMs: number, streamTimeoutMs: number): Interceptor {
  return (options, nextCall) => {
    const { requestStream, responseStream } = options.method_definition;
    const allowed = requestStream || responseStream ? streamTimeoutMs : timeoutMs;
    return new InterceptingCall(nextCall({ ...options, deadline: options.deadline ?? Date.now() + allowed }));
  };
}
