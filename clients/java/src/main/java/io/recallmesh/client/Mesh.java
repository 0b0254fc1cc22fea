package io.recallmesh.client;

import com.google.gson.Gson;
import com.google.protobuf.Any;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.rpc.ErrorInfo;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ChannelCredentials;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.protobuf.StatusProto;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;

/**
 * Opens channels to a mesh that behave as those of its other clients do: every call has a deadline, carries the key
 * and, where it writes, a request id, and is repeated where that does no harm.
 */
public final class Mesh {
  /** The deadline of a call that brings none. */
  public static final Duration TIMEOUT = Duration.ofSeconds(30);

  /** The deadline of a stream that brings none. */
  public static final Duration STREAM_TIMEOUT = Duration.ofHours(1);

  private static final String DOMAIN = "recallmesh";
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  private Mesh() {}

  /**
   * Opens a channel without encryption.
   *
   * @param address a gRPC target such as {@code 127.0.0.1:7070} or {@code dns:///mesh:7070}
   * @param key what the mesh knows its caller by; empty: none is sent
   */
  public static ManagedChannel open(String address, String key) {
    return open(address, key, InsecureChannelCredentials.create());
  }

  /** Opens a channel with credentials such as {@code TlsChannelCredentials.create()}. It connects with the first call. */
  public static ManagedChannel open(String address, String key, ChannelCredentials credentials) {
    return Grpc.newChannelBuilder(address, credentials)
        .defaultServiceConfig(serviceConfig())
        .disableServiceConfigLookUp()
        .intercept(new Caller(key))
        .build();
  }

  /**
   * Returns what the mesh says of an error to programmes: its reason, such as {@code BANK_NOT_FOUND}, and in the
   * metadata the request id under which the server's log has it. Empty for errors that are not the mesh's.
   */
  public static ErrorInfo errorInfo(Throwable error) {
    var status = StatusProto.fromThrowable(error);
    if (status != null) {
      for (Any detail : status.getDetailsList()) {
        if (detail.is(ErrorInfo.class)) {
          var info = unpacked(detail);
          if (info.getDomain().equals(DOMAIN)) {
            return info;
          }
        }
      }
    }
    return ErrorInfo.getDefaultInstance();
  }

  private static ErrorInfo unpacked(Any detail) {
    try {
      return detail.unpack(ErrorInfo.class);
    } catch (InvalidProtocolBufferException broken) {
      return ErrorInfo.getDefaultInstance();
    }
  }

  private static Map<String, ?> serviceConfig() {
    try (Reader json =
        new InputStreamReader(Mesh.class.getResourceAsStream("service_config.json"), StandardCharsets.UTF_8)) {
      @SuppressWarnings("unchecked") // A JSON object: what gRPC asks for, numbers as doubles.
      Map<String, ?> config = new Gson().fromJson(json, Map.class);
      return config;
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
  }

  /** What every call of a channel carries. */
  private record Caller(String key) implements ClientInterceptor {
    @Override
    public <Q, A> ClientCall<Q, A> interceptCall(MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
      return new SimpleForwardingClientCall<>(next.newCall(method, timed(method.getType(), options))) {
        @Override
        public void start(Listener<A> listener, Metadata headers) {
          if (!key.isEmpty()) {
            headers.put(AUTHORIZATION, "Bearer " + key);
          }
          super.start(listener, headers);
        }

        @Override
        public void sendMessage(Q message) {
          super.sendMessage(identified(message));
        }
      };
    }

    private static CallOptions timed(MethodType type, CallOptions options) {
      if (options.getDeadline() != null) {
        return options;
      }
      var timeout = type == MethodType.UNARY ? TIMEOUT : STREAM_TIMEOUT;
      return options.withDeadlineAfter(timeout.toNanos(), TimeUnit.NANOSECONDS);
    }

    /** Gives a message that may have a request id one, so that to repeat the call counts once. */
    private static <Q> Q identified(Q message) {
      if (!(message instanceof Message request)) {
        return message;
      }
      FieldDescriptor field = request.getDescriptorForType().findFieldByName("request_id");
      if (field == null || !request.getField(field).equals("")) {
        return message;
      }
      @SuppressWarnings("unchecked") // A message's own builder makes such a message.
      Q with = (Q) request.toBuilder().setField(field, UUID.randomUUID().toString()).build();
      return with;
    }
  }
}
